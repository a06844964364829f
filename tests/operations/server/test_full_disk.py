"""Commands on a full disk: those that free room or only read still work.

The others say in a sentence that there is no room.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.homes import Home, assistant, result, user
from tests.processes import CHECKOUT

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def disk_report(tmp_path_factory, migrated):
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    folder = tmp_path_factory.mktemp("full")
    source = Home(folder / "openclaw")
    for _number in range(12):
        script = source.transcript()
        for turn in range(25):
            script.add(user(f"Question {turn}"), assistant("", (f"c{turn}", "exec", {"n": turn})))
            script.add(result(f"c{turn}", os.urandom(1900).hex()), assistant("Answer"))
    (folder / "disk").mkdir()
    (folder / "out").mkdir()
    arguments = [folder / "disk", migrated, source.root, folder / "out"]
    command = ["unshare", "-Urm", sys.executable, "-m", "tests.operations.server.full_disk", *map(str, arguments)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    done = subprocess.run(command, cwd=CHECKOUT, env=inherited, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_works(disk_report):
    """A home keeps a few megabytes for this."""
    assert disk_report["reserve"] == 4 * 1024 * 1024


def test_pages_answer_beside_a_server_that_was_started_there(disk_report):
    assert (disk_report["served"]["status"], disk_report["served"]["pages"]) == (0, {"healthz": 200, "sign-in/": 200})
    assert "Traceback" not in disk_report["served"]["said"]


def test_every_command_does_its_work_or_says_that_there_is_no_room(disk_report):
    ended = {command["words"].partition(" --out")[0]: command["status"] for command in disk_report["ended"]}
    refused = {words for words, status in ended.items() if status == 3}
    assert {words for words, status in ended.items() if status == 0} == ended.keys() - refused, disk_report["ended"]
    assert refused == {"backup create", "collect"}  # these two only take room
    for command in disk_report["ended"]:
        assert "Traceback" not in command["said"]
        assert command["status"] == 0 or "Not enough space" in command["said"]


def test_removing_old_sessions_makes_room(disk_report):
    removed = disk_report["ended"][-1]["said"]
    assert "12 sessions" in removed and "1,212 records" in removed
    assert disk_report["free"] > 1024 * 1024


def test_nothing_is_left_of_a_key_that_could_not_be_made(disk_report):
    """A start on a full disk leaves no part of a key.

    It writes no key where there is one. Where there is none, it fails with a sentence.
    """
    assert [name for name in disk_report["names"] + disk_report["names_without_key"] if name.startswith("secret.")] == [
        "secret.key"
    ]
    assert disk_report["without_key"]["status"] == 2 and "No space left on device" in disk_report["without_key"]["said"]
    assert disk_report["without_key"]["said"].count("\n") == 1


def test_without_the_reserve_it_is_a_sentence_that_says_what_makes_room(disk_report):
    for command in disk_report["without_reserve"]:
        assert "Traceback" not in command["said"], command
        is_said = "No space left" in command["said"] and "by hand" in command["said"]
        assert is_said or command["words"] == "doctor", command
