"""Locks on files: waiting, refusing a second process, and the death of a holder."""

import os
import subprocess
import sys

import pytest

from openclaw_web.disk import locks
from openclaw_web.errors import Refused

HOLDER = """
import sys, time
from pathlib import Path
from openclaw_web.disk import locks
handle = locks.hold_lock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "one.lock"


def test_one_has_it_and_the_other_is_told(file):
    with locks.lock(file) as is_ours, locks.lock(file, wait=False) as is_theirs:
        assert (is_ours, is_theirs) == (True, False)
        assert locks.is_held(file) is True and locks.hold_lock(file, wait=False) is None
    assert locks.is_held(file) is False


def test_some_share_it(file):
    with locks.lock(file, shared=True), locks.lock(file, shared=True, wait=False) as is_shared:
        assert is_shared
        with locks.lock(file, wait=False) as is_alone:
            assert not is_alone


def test_a_descriptor_holds_it_until_it_is_closed(file):
    handle = locks.hold_lock(file)
    assert locks.hold_lock(file, wait=False) is None
    os.close(handle)
    assert locks.is_held(file) is False


def test_whoever_waits_says_so_first_and_others_say_nothing(file, tmp_path):
    messages = []
    with locks.lock(file, before_waiting=lambda: messages.append("nobody has it")):
        assert messages == []
        holder = locks.hold_lock(tmp_path / "other.lock")
        with locks.lock(tmp_path / "other.lock", before_waiting=lambda: (messages.append("waiting"), os.close(holder))):
            assert messages == ["waiting"]


def test_the_second_of_two_is_refused_with_the_sentence(file):
    with (
        locks.exclusive_lock(file, "Wait."),
        pytest.raises(Refused, match=r"Wait\."),
        locks.exclusive_lock(file, "Wait."),
    ):
        pytest.fail("both are at work")
    with locks.exclusive_lock(file, "Wait."):
        assert locks.is_held(file)


def test_a_name_is_one_of_the_home(settings):
    (settings.HOME_DIR / "state").mkdir(parents=True, exist_ok=True)
    with locks.lock(locks.DOCTOR):
        assert locks.is_held(settings.HOME_DIR / "state" / "doctor.lock")


def test_looking_makes_no_file(file):
    assert locks.is_held(file) is None and not file.exists()


def test_the_file_is_for_its_owner_alone(file):
    with locks.lock(file):
        assert file.stat().st_mode & 0o777 == 0o600


class TestRuns:
    def test_one_that_ended_leaves_nothing(self, settings):
        with locks.hold_run_lock("here:1:ONE"):
            assert locks.is_run_dead("here:1:ONE") is False
        assert not (settings.HOME_DIR / "state" / "running" / "ONE").exists()
        assert locks.is_run_dead("here:1:ONE") is None

    def test_one_that_was_broken_off_is_dead_until_it_is_forgotten(self):
        with pytest.raises(SystemExit), locks.hold_run_lock("here:1:TWO"):
            raise SystemExit
        assert locks.is_run_dead("here:1:TWO") is True
        locks.remove_run_lock("here:1:TWO")
        assert locks.is_run_dead("here:1:TWO") is None


@pytest.mark.kill
def test_a_killed_process_has_no_lock(file):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, file], stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout.readline() == b"held\n"
        assert locks.is_held(file)
        holder.kill()
    assert locks.is_held(file) is False
