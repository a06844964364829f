"""Rollbacks on disks without room, in mount namespaces of their own: refused in a sentence, with nothing changed."""

import json
import os
import subprocess
import sys

import pytest

from tests.homes import Home, assistant, user
from tests.processes import CHECKOUT

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def told(tmp_path_factory, migrated):
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


def check_refused(one, *words):
    """That nothing came of a rollback but a sentence."""
    assert one["status"] in (1, 3) and "Traceback" not in one["said"], one
    assert all(word in one["said"] for word in words), one["said"]
    assert one["is_as_it_was"] and one["names"] == ["MEMORY.md"] and one["rollbacks"] == 0, one
    assert set(one["states"]) <= {"undone"}, one
    assert one["newest_is_in_the_file"] and one["copies_are_whole"], one


def check_done(one):
    assert one["status"] == 0 and one["is_restored"] and one["names"] == ["MEMORY.md"], one
    assert one["rollbacks"] == 1 and one["states"][-1] == "done" and "planned" not in one["states"], one


def test_a_full_workspace(told):
    for one in told["workspace"]["full"]:
        check_refused(one, "MEMORY.md was not written: the disk is full.")
    check_done(told["workspace"]["with_room"])


def test_a_full_home(told):
    with_reserve, without = told["home"]["full"]
    check_refused(with_reserve, "Not enough space in", "needed")
    check_refused(without, "No space left on the disk of the home.")
    check_done(told["home"]["with_room"])


@pytest.mark.parametrize("moment", ["intend", "finish"])
def test_a_home_that_is_full_in_the_middle(told, moment):
    """Somebody else takes the last byte: before anything is touched, and when the file has been exchanged already."""
    one = told["middle"][moment]
    assert one["was_in_place"] == (moment == "finish")
    check_refused(one["full"], "No space left in", "Nothing was written.")
    check_done(one["with_room"])


def test_a_home_without_a_reserve(told):
    """The file is as it was. That nothing is under way any more stands in the database when there is room."""
    one = told["middle"]["finish without reserve"]
    assert one["full"]["status"] == 3 and one["full"]["is_as_it_was"] and one["full"]["names"] == ["MEMORY.md"]
    assert one["full"]["states"] == ["planned"] and one["full"]["rollbacks"] == 0
    check_done(one["with_room"])


def test_a_home_that_is_full_at_the_end(told):
    """The rollback is done, and whoever did it is in the log; what is left to do is done by the next one."""
    one = told["middle"]["end"]
    assert one["full"]["status"] == 0 and one["full"]["is_restored"] and "Rolled back." in one["full"]["said"]
    assert one["full"]["logged"] == 1 and one["full"]["states"] == ["exchanged"]
    assert "already" in one["with_room"]["said"]
    check_done(one["with_room"] | {"status": 0})
