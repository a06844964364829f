"""Which tests a change asks for: `./dev test --changed`. Prints files and folders for pytest, and says why.

What differs from where this branch left `main`, or is not committed, belongs to an app; its tests are run, those of all
apps above it (they may import it), files of apps below that import these, and what is about all of it together.
"""

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
BASES = ("main", "origin/main", "master", "origin/master")
# Of all apps together: read the source, or go the whole way.
ALWAYS = ("tests/whole", "tests/suite", "tests/test_*.py")
# What no app is changed by: documents, and what only these tests read.
OF_NO_APP = ("docs/", "benchmarks/", "tests/whole/", "tests/suite/test_", "tests/test_", ".gitignore")
GROUND = ("templates/", "static/", "locale/")  # beside the apps; `templates/<app>/` is the app's
CONSUMERS = "tests/consumers/"  # of exports


def order():
    """The apps from the ground up, as docs/map.md says."""
    text = (CHECKOUT / "docs" / "map.md").read_text()
    line = re.search(r"^`openclaw_web` →.*?\n\n", text, re.MULTILINE | re.DOTALL)[0]
    return re.findall(r"`(\w+)`", line)


def find_changed_files(checkout=CHECKOUT):
    """The files that differ from where the branch left its base, and those that are new."""
    bases = [_git(checkout, "merge-base", "HEAD", name) for name in BASES]
    base = next((found[0] for found in bases if found), "HEAD")
    new = _git(checkout, "ls-files", "--others", "--exclude-standard")
    return sorted({*_git(checkout, "diff", "--name-only", base), *new})


def _git(checkout, *words):
    done = subprocess.run(["git", "-C", str(checkout), *words], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def lowest(file, apps):
    """The lowest app that a file can change: none, or the lowest of all when anything may be another."""
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
    """What pytest is to run when these files have changed."""
    apps = order()
    touched = {app for file in files if (app := lowest(file, apps))}
    above = apps[min(map(apps.index, touched)) :] if touched else []
    own = [file for file in files if _is_test(file) and (checkout / file).exists()]
    folders = [folder for app in above if (checkout / (folder := f"tests/{app}")).is_dir()]
    folders += ["tests/consumers"] if "datasets" in above else []
    folders += naming(above, [app for app in apps if app not in above], checkout)
    always = [path.relative_to(checkout).as_posix() for pattern in ALWAYS for path in sorted(checkout.glob(pattern))]
    found = [*folders, *always]
    return [*found, *(file for file in own if not any(Path(file).is_relative_to(place) for place in found))]


def naming(above, below, checkout):
    """The test files of apps below that import one of the apps above or tests of it, or through their own helpers."""
    files = {path: path.read_text() for app in below for path in sorted((checkout / "tests" / app).rglob("*.py"))}
    reach, helpers = rf"(?:tests\.)?(?:{'|'.join(above) or '(?!)'})\b", []
    while True:  # code for other processes stands in strings, whose lines begin the same way
        line = re.compile(rf"^\s*(?:from|import) (?:{'|'.join([reach, *helpers])})", re.MULTILINE)
        found = [path.relative_to(checkout) for path, text in files.items() if line.search(text)]
        tests = [path.as_posix() for path in found if _is_test(path.as_posix())]
        known, helpers = helpers, [_imported(path) for path in found if not _is_test(path.as_posix())]
        if helpers == known:
            return tests


def _imported(path):
    """How a helper is imported."""
    *folders, name = path.with_suffix("").parts
    return rf"{re.escape('.'.join(folders))}(?:\.{name}\b| import .*\b{name}\b)"


def main():
    """Print the places, one to a line."""
    files = find_changed_files()
    found = find_test_paths(files)
    folders = [place.removeprefix("tests/") for place in found if not place.endswith(".py")]
    more = len(found) - len(folders)
    print(f"== {len(files)} files changed: tests of {', '.join(folders)}; {more} other files", file=sys.stderr)  # noqa: T201
    print("\n".join(found))  # noqa: T201


if __name__ == "__main__":
    main()
