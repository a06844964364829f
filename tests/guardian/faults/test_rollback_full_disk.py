"""Rollbacks on disks without room, each in a mount namespace of its own.

A rollback is refused in a sentence, and nothing is changed.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.homes import Home, assistant, user
from tests.processes import CHECKOUT

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def results(tmp_path_factory, migrated):
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    folder = tmp_path_factory.mktemp("full").resolve()
    source = Home(folder / "openclaw")
    source.transcript(user("Hello"), assistant("Hello"))
    for name in ("openclaw/workspace", "disk"):
        (folder / name).mkdir(exist_ok=True)
    command = ["unshare", "-Urm", sys.executable, "-m", "tests.guardian.faults.full_disk"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    folders = {"FULL_DISK_FOLDER": str(folder), "FULL_DISK_MIGRATED": str(migrated)}
    done = subprocess.run(command, cwd=CHECKOUT, env=inherited | folders, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_refused(result, *words):
    """Check that a rollback was refused in a sentence and changed nothing."""
    assert result["status"] in (1, 3) and "Traceback" not in result["said"], result
    assert all(word in result["said"] for word in words), result["said"]
    assert result["is_as_it_was"] and result["names"] == ["MEMORY.md"] and result["rollbacks"] == 0, result
    assert set(result["states"]) <= {"undone"}, result
    assert result["newest_is_in_the_file"] and result["copies_are_whole"], result


def check_done(result):
    assert result["status"] == 0 and result["is_restored"] and result["names"] == ["MEMORY.md"], result
    assert result["rollbacks"] == 1 and result["states"][-1] == "done" and "planned" not in result["states"], result


@pytest.mark.nightly
def test_a_full_workspace(results):
    for result in results["workspace"]["full"]:
        check_refused(result, "MEMORY.md was not written: the disk is full.")
    check_done(results["workspace"]["with_room"])


def test_a_full_home(results):
    with_reserve, without = results["home"]["full"]
    check_refused(with_reserve, "Not enough space in", "needed")
    check_refused(without, "No space left on the disk of the home.")
    check_done(results["home"]["with_room"])


@pytest.mark.parametrize("moment", ["intend", "finish"])
def test_a_home_that_is_full_in_the_middle(results, moment):
    """Another program takes the last byte, before the exchange or after it."""
    result = results["middle"][moment]
    assert result["was_in_place"] == (moment == "finish")
    check_refused(result["full"], "No space left in", "Nothing was written.")
    check_done(result["with_room"])


def test_a_home_without_a_reserve(results):
    """The file is unchanged, and the intent ends as soon as there is room."""
    result = results["middle"]["finish without reserve"]
    assert result["full"]["status"] == 3 and result["full"]["is_as_it_was"] and result["full"]["names"] == ["MEMORY.md"]
    assert result["full"]["states"] == ["planned"] and result["full"]["rollbacks"] == 0
    check_done(result["with_room"])


def test_a_home_that_is_full_at_the_end(results):
    """The rollback is done and logged; the next rollback finishes its remaining steps."""
    result = results["middle"]["end"]
    assert result["full"]["status"] == 0 and result["full"]["is_restored"] and "Rolled back." in result["full"]["said"]
    assert result["full"]["logged"] == 1 and result["full"]["states"] == ["exchanged"]
    assert "already" in result["with_room"]["said"]
    check_done(result["with_room"] | {"status": 0})
