"""Finds the tests that a change needs: `./dev test --changed`.

It prints files and folders for pytest, and the reason. A change is what differs from where this branch left `main`, or
is not committed. It belongs to an app; that app's tests are run, those of all apps above it (they may import it), files
of apps below that import these, and the tests about all apps together.
"""

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
BASES = ("main", "origin/main", "master", "origin/master")
# Tests of all apps together.
ALWAYS = ("tests/whole", "tests/installation", "tests/suite", "tests/test_*.py")
# Files that change no app: documents, and files that only these tests read.
OF_NO_APP = (
    *("docs/", "benchmarks/", "tests/whole/", "tests/installation/", "tests/suite/test_", "tests/test_", ".gitignore"),
)
GROUND = ("templates/", "static/", "locale/")  # beside the apps; `templates/<app>/` is the app's
CONSUMERS = "tests/consumers/"  # of exports


def read_app_order():
    """The apps from the lowest to the highest, as docs/map.md has them."""
    text = (CHECKOUT / "docs" / "map.md").read_text()
    line = re.search(r"^`openclaw_web` →.*?\n\n", text, re.MULTILINE | re.DOTALL)[0]
    return re.findall(r"`(\w+)`", line)


def find_changed_files(checkout=CHECKOUT):
    """The files that differ from the branch's base, and new files."""
    bases = [_git(checkout, "merge-base", "HEAD", name) for name in BASES]
    base = next((merge_base[0] for merge_base in bases if merge_base), "HEAD")
    new = _git(checkout, "ls-files", "--others", "--exclude-standard")
    return sorted({*_git(checkout, "diff", "--name-only", base), *new})


def _git(checkout, *words):
    process = subprocess.run(["git", "-C", str(checkout), *words], capture_output=True, text=True, check=False)
    return process.stdout.splitlines() if process.returncode == 0 else []


def find_lowest_app(file, apps):
    """The lowest app that a file can change.

    None if it changes no app; the lowest app of all if it may change any.
    """
    parts = file.split("/")
    if file.startswith(OF_NO_APP) or (file.endswith(".md") and len(parts) == 1):
        return None
    if file.startswith(CONSUMERS):
        return "datasets"
    if parts[0] in apps:
        return parts[0]
    if parts[0] in ("tests", "templates") and parts[1] in apps:
        return None if _is_test(file) else parts[1]
    return apps[0]


def _is_test(file):
    return file.startswith("tests/") and file.rpartition("/")[2].startswith("test_")


def find_test_paths(files, checkout=CHECKOUT):
    """The files and folders that pytest has to run for these changed files."""
    apps = read_app_order()
    touched = {app for file in files if (app := find_lowest_app(file, apps))}
    above = apps[min(map(apps.index, touched)) :] if touched else []
    own = [file for file in files if _is_test(file) and (checkout / file).exists()]
    folders = [folder for app in above if (checkout / (folder := f"tests/{app}")).is_dir()]
    folders += ["tests/consumers"] if "datasets" in above else []
    folders += find_naming_tests(above, [app for app in apps if app not in above], checkout)
    always = [path.relative_to(checkout).as_posix() for pattern in ALWAYS for path in sorted(checkout.glob(pattern))]
    paths = [*folders, *always]
    return [*paths, *(file for file in own if not any(Path(file).is_relative_to(place) for place in paths))]


def find_naming_tests(above, below, checkout):
    """The test files of apps below that import apps above or their tests.

    Imports through their own helpers count too.
    """
    files = {path: path.read_text() for app in below for path in sorted((checkout / "tests" / app).rglob("*.py"))}
    reach, helpers = rf"(?:tests\.)?(?:{'|'.join(above) or '(?!)'})\b", []
    while True:  # code for other processes stands in strings, whose lines begin the same way
        line = re.compile(rf"^\s*(?:from|import) (?:{'|'.join([reach, *helpers])})", re.MULTILINE)
        importers = [path.relative_to(checkout) for path, text in files.items() if line.search(text)]
        tests = [path.as_posix() for path in importers if _is_test(path.as_posix())]
        known, helpers = helpers, [_build_import_pattern(path) for path in importers if not _is_test(path.as_posix())]
        if helpers == known:
            return tests


def _build_import_pattern(path):
    """A pattern that matches imports of a helper."""
    *folders, name = path.with_suffix("").parts
    return rf"{re.escape('.'.join(folders))}(?:\.{name}\b| import .*\b{name}\b)"


def main():
    """Print the places, one to a line."""
    files = find_changed_files()
    paths = find_test_paths(files)
    folders = [place.removeprefix("tests/") for place in paths if not place.endswith(".py")]
    more = len(paths) - len(folders)
    print(f"== {len(files)} files changed: tests of {', '.join(folders)}; {more} other files", file=sys.stderr)  # noqa: T201
    print("\n".join(paths))  # noqa: T201


if __name__ == "__main__":
    main()
