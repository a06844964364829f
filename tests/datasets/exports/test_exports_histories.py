"""Exports with each history, as files: one row for a session, context that is not learned."""

import pytest

from datasets.exports import exports
from datasets.models import DatasetSample
from datasets.services import make_samples
from tests.consumers.readers.card_blocks import read_blocks
from tests.datasets.conversations import store_turns
from tests.datasets.exports.export_helpers import build_export, read_rows
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def samples(own_home, ada):
    """Four turns of which the second and the third are approved."""
    store_turns(4)
    make_samples(ada, "s1", None, by="ann")
    DatasetSample.objects.filter(turn_number__in=(2, 3)).update(annotation_status="approved")


def build_and_read_parts(history):
    """Build an export; return its manifest, its conversations and its folder."""
    export = build_export("sharegpt", history=history)
    conversations = [row["conversations"] for row in read_rows(export)]
    return export.manifest, conversations, exports.folder_of(export)


def test_before_a_reply_stand_approved_turns():
    manifest, conversations, folder = build_and_read_parts("edited")
    texts = [[message["value"] for message in conversation] for conversation in conversations]
    assert texts == [["question 2", "answer 2"], ["question 2", "answer 2", "question 3", "answer 3"]]
    settings = read_blocks(folder)
    assert manifest["rules"] == 3 and "mask_history" not in settings["LLaMA-Factory", "yaml"]
    assert "message_field_training" not in settings["Axolotl", "yaml"]


def test_a_session_is_one_row():
    manifest, conversations, _folder = build_and_read_parts("session")
    assert [len(conversation) for conversation in conversations] == [4]
    counts = manifest["counts"]
    assert (counts["rows"], counts["samples"], counts["approved"], counts["excluded"]) == (1, 2, 2, 2)


def test_context_is_marked_for_each_trainer():
    manifest, conversations, folder = build_and_read_parts("context")
    assert [[message["train"] for message in conversation] for conversation in conversations] == [
        [False, False, False, True],
        [False, False, False, False, False, True],
    ]
    settings = read_blocks(folder)
    assert "dataset: ocl_one_sharegpt\nmask_history: true\n" in settings["LLaMA-Factory", "yaml"]
    assert "message_field_training: train\n" in settings["Axolotl", "yaml"]
    assert "dataset_info.json" in {file["name"] for file in manifest["files"]}


RESET = {"type": "reset", "reason": "new"}
HEADER = {"type": "session", "parentId": None}


@pytest.mark.parametrize(("begin", "place"), [(RESET, {}), (HEADER, {"parentId": None})])
def test_what_the_model_saw_is_nobodys_words_and_a_reset_begins_anew(ada, begin, place):
    own = {"modelPromptProjection": {"version": 1, "text": "A hook wrote this"}}
    before = (user("q1", __openclaw=own), assistant("a1"), begin)
    greeting = assistant("What shall we do now?") | place
    store_session(
        *before, greeting, user("q2", __openclaw=own), assistant("a2"), user("q3"), assistant("a3"), session_id="s2"
    )
    make_samples(ada, "s2", None, by="ann")
    DatasetSample.objects.filter(session_id="s2").update(annotation_status="approved")
    for history in ("edited", "session", "context"):
        _manifest, conversations, folder = build_and_read_parts(history)
        texts = [[message["value"] for message in conversation] for conversation in conversations]
        assert [row for row in texts if row[0] == "q2"][-1] == ["q2", "a2", "q3", "a3"]
        assert not any("q1" in row and "q2" in row for row in texts)
        assert ["q1", "a1"] in texts and not any("What shall" in text for row in texts for text in row)
        assert not any(b"A hook wrote this" in path.read_bytes() for path in folder.iterdir())
