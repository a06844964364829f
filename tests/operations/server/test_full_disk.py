"""What frees room, and what only reads, works on a disk without a free byte; the rest says so in a sentence."""

import json
import os
import subprocess
import sys

import pytest

from tests.homes import Home, assistant, result, user
from tests.processes import CHECKOUT

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def told(tmp_path_factory, migrated):
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


def test_it_works(told):
    """A home keeps a few megabytes for this."""
    assert told["reserve"] == 4 * 1024 * 1024


def test_pages_answer_beside_a_server_that_was_started_there(told):
    assert (told["served"]["status"], told["served"]["pages"]) == (0, {"healthz": 200, "sign-in/": 200})
    assert "Traceback" not in told["served"]["said"]


def test_every_command_does_its_work_or_says_that_there_is_no_room(told):
    ended = {one["words"].partition(" --out")[0]: one["status"] for one in told["ended"]}
    refused = {words for words, status in ended.items() if status == 3}
    assert {words for words, status in ended.items() if status == 0} == ended.keys() - refused, told["ended"]
    assert refused == {"backup create", "collect"}  # what only takes room
    for one in told["ended"]:
        assert "Traceback" not in one["said"]
        assert one["status"] == 0 or "Not enough space" in one["said"]


def test_removing_old_sessions_makes_room(told):
    removed = told["ended"][-1]["said"]
    assert "12 sessions" in removed and "1,212 records" in removed
    assert told["free"] > 1024 * 1024


def test_nothing_is_left_of_a_key_that_could_not_be_made(told):
    """A start writes no key where there is one, and where there is none, a full disk is a sentence."""
    assert [name for name in told["names"] + told["names_without_key"] if name.startswith("secret.")] == ["secret.key"]
    assert told["without_key"]["status"] == 2 and "No space left on device" in told["without_key"]["said"]
    assert told["without_key"]["said"].count("\n") == 1


def test_without_the_reserve_it_is_a_sentence_that_says_what_makes_room(told):
    for one in told["without_reserve"]:
        assert "Traceback" not in one["said"], one
        is_said = "No space left" in one["said"] and "by hand" in one["said"]
        assert is_said or one["words"] == "doctor", one
