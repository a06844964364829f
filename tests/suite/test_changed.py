"""`./dev test --changed` leaves out only what a change cannot reach."""

import subprocess

import pytest

from tests.suite import affected_tests
from tests.suite.sources import ALL_MODULES, ORDER, ROOT, find_imports

TESTS = [path for path in ALL_MODULES if path.name.startswith("test_")]
TOP = ["tests/operations", "tests/demo"]


def folders(*files):
    """The folders of apps that are run for these files."""
    apps = {f"tests/{app}" for app in ORDER} | {"tests/consumers"}
    return [place for place in affected_tests.find_test_paths(files) if place in apps]


def test_the_order_is_that_of_the_map():
    assert affected_tests.read_app_order() == ORDER


@pytest.mark.parametrize(
    ("file", "places"),
    [
        ("operations/doctor/checks.py", TOP),
        ("templates/operations/doctor.html", TOP),
        ("tests/operations/backups/backup_homes.py", TOP),
        ("demo/stage.py", ["tests/demo"]),
        ("docs/map.md", []),
        ("README.md", []),
        ("tests/operations/test_nothing.py", []),
        *((file, [*(f"tests/{app}" for app in ORDER), "tests/consumers"]) for file in ("pyproject.toml", "dev")),
        *(
            (file, [*(f"tests/{app}" for app in ORDER), "tests/consumers"])
            for file in ("static/app.js", "tests/homes.py")
        ),
        ("templates/base.html", [*(f"tests/{app}" for app in ORDER), "tests/consumers"]),
    ],
)
def test_apps_and_those_above_them_are_run(file, places):
    assert folders(file) == places


def test_what_is_about_everything_is_always_run():
    paths = affected_tests.find_test_paths([])
    assert {"tests/whole", "tests/suite", "tests/test_house.py", "tests/test_architecture.py"} <= set(paths)
    assert all((ROOT / place).exists() for place in paths)


def test_a_changed_test_is_run_itself():
    own = "tests/people/test_sign_in.py"
    assert own in affected_tests.find_test_paths([own]) and own not in affected_tests.find_test_paths(
        ["people/urls.py", own]
    )
    assert "tests/people/test_that_was_removed.py" not in affected_tests.find_test_paths(
        ["tests/people/test_that_was_removed.py"]
    )


def test_tests_below_that_name_an_app_are_run():
    paths = affected_tests.find_test_paths(["operations/doctor/checks.py"])
    imported = {
        path.relative_to(ROOT).as_posix()
        for path in TESTS
        if any(name.startswith("operations.") for _line, name in find_imports(path))
    }
    assert imported and all(any(file.startswith(f"{place}/") or file == place for place in paths) for file in imported)
    assert "tests/people/test_sign_in.py" not in paths and len(paths) < len(TESTS) / 3


@pytest.fixture
def checkout(tmp_path):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("old.py", "kept.py"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "mine")
    (tmp_path / "old.py").write_text("2")
    git("commit", "-am", "second")
    git("checkout", "main")
    (tmp_path / "kept.py").write_text("3")
    git("commit", "-am", "of others")
    git("checkout", "mine")
    return tmp_path


def test_what_others_did_meanwhile_is_no_change_of_ours(checkout):
    assert affected_tests.find_changed_files(checkout) == ["old.py"]
    (checkout / "new.py").write_text("1")
    (checkout / "kept.py").write_text("4")
    assert affected_tests.find_changed_files(checkout) == ["kept.py", "new.py", "old.py"]
