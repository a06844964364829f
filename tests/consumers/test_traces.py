"""Exported sessions: Harbor's validator takes them, and Inspect Scout lists and scans them."""

import os
from pathlib import Path

import pytest

from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session
from tests.operations.traces.sessions import add_decision, export, store_odd_session

HARBOR = Path(os.environ.get("CONSUMERS", ""), "harbor", "lib")


@pytest.fixture
def write(settings, ada, bob, tmp_path):
    """A function that exports two sessions, and returns the folder and the receipt."""
    settings.HOME_DIR = tmp_path
    (tmp_path / "state").mkdir()
    store_odd_session()
    add_decision(store_session(user("likes tea"), assistant("Noted."), session_id="s2"), "likes tea")

    def write_folder(form):
        return str(tmp_path / form), export(tmp_path / form, form)

    return write_folder


@pytest.mark.skipif(not list(HARBOR.glob("*/site-packages/harbor")), reason="harbor needs Python 3.12 or newer")
def test_the_validator_of_harbor_takes_every_trajectory(write, hand_over):
    folder, receipt = write("atif")
    answers = hand_over("harbor", "atif", {"atif": folder})["answers"]["atif"]
    assert answers.keys() == {file["name"] for file in receipt["files"]}
    assert all(answer["is_valid"] for answer in answers.values()), answers


def test_scout_lists_and_scans_every_transcript(write, hand_over):
    folder, receipt = write("scout")
    answer = hand_over("scout", "scout", {"scout": folder})["answers"]["scout"]
    assert answer["validation"] == "Schema validation passed."
    assert answer["counts"] == {file["session"]: [file["messages"]] * 2 for file in receipt["files"]}
    assert answer["is_complete"] and answer["scanned"] == [len(receipt["files"]), 0]
