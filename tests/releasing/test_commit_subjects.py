"""Subjects of commits are checked, beginning with the commit that adds the check."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("commit_subjects.py")


@pytest.fixture
def checkout(tmp_path):
    script = tmp_path / "tests" / "releasing" / SCRIPT.name
    script.parent.mkdir(parents=True)
    shutil.copy(SCRIPT, script)
    return tmp_path


def git(checkout, *arguments):
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=checkout, check=True, capture_output=True)


def commit(checkout, subject):
    git(checkout, "commit", "--allow-empty", "-m", subject)


def run_check(checkout):
    script = checkout / "tests" / "releasing" / SCRIPT.name
    answer = subprocess.run([sys.executable, script], cwd=checkout, capture_output=True, text=True, check=False)
    return answer.returncode, answer.stdout


def test_subjects_name_an_area_and_are_short(checkout):
    git(checkout, "init", "-q")
    commit(checkout, "what was before is not read")
    git(checkout, "add", ".")
    commit(checkout, "nor is what brings the check")
    commit(checkout, "gate: match turns by the hash of the reply")
    assert run_check(checkout) == (0, "")
    commit(checkout, "Improve things")
    commit(checkout, "exports: " + "x" * 52)
    status, printed = run_check(checkout)
    long, bare = printed.splitlines()
    assert status == 1 and ": 61 characters, at most 60: exports: xxx" in long
    assert bare.endswith("not `area: what changes`: Improve things")


def test_a_merge_has_a_subject_of_its_own(checkout):
    git(checkout, "init", "-q", "-b", "main")
    git(checkout, "add", ".")
    commit(checkout, "releasing: subjects are checked")
    git(checkout, "switch", "-q", "-c", "side")
    commit(checkout, "gate: a change")
    git(checkout, "switch", "-q", "main")
    git(checkout, "merge", "-q", "--no-ff", "-m", "Merge what is on the side", "side")
    assert run_check(checkout)[0] == 0


def test_without_a_history_it_says_that_it_did_not_look(checkout):
    assert run_check(checkout) == (0, "There is no Git history here: subjects of commits were not checked.\n")
