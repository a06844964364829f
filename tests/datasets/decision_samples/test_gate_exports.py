"""Exports of decisions teach the verdicts of people."""

import csv

import orjson
import pytest

from datasets.exports import exports
from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION, Correction
from datasets.models import DatasetSample
from datasets.review import parts, undo, verdicts
from datasets.services import make_samples
from openclaw_web.errors import Refused
from tests.datasets.conversations import store_turns
from tests.datasets.exports.export_helpers import build_export, excluded_counts, read_rows
from tests.datasets.kinds.gates import FACT, make_window, store_decision

pytestmark = pytest.mark.django_db
ASK = "Based on the following conversation, decide if this should be written to memory and which file it belongs to."
FIRST = "User: question 1\nAgent: answer 1\n"
LINES = f"Decision: UPDATE_USER\nFact: {FACT}\nReason: A stable preference."
NOTHING = Correction("NO_WRITE", reason="Said once.")


@pytest.fixture(autouse=True)
def turns(own_home):
    store_turns(4)


@pytest.fixture
def judged(ada):
    """Four turns with verdicts on their decisions.

    Right, wrong with a correction, wrong without one, and right of a gate that saw the reply alone.
    """
    store_decision("right", turn="s1:u1")
    store_decision("wrong", turn="s1:u2")
    store_decision("unsolved", turn="s1:u3")
    store_decision("half", turn="s1:u4", window=make_window(("user", "earlier"), reply="answer 4"),
           decision="NO_WRITE", candidate_fact=None, reason="Small talk.")  # fmt: skip
    judge_decision(ada, "right")
    judge_decision(ada, "wrong", "wrong", NOTHING)
    judge_decision(ada, "unsolved", "wrong")
    judge_decision(ada, "half")


def judge_decision(agent, name, verdict="right", correction=None):
    if verdict == "wrong" and correction is None:
        correction = Correction("", reason="Said once.")  # nobody says what would be right
    return verdict_service.give_verdict(DECISION, agent, name, verdict, by="ann", correction=correction)


def files(export, ending):
    (path,) = exports.folder_of(export).glob(f"*.train.{ending}")
    return path.read_text(encoding="utf-8-sig")


def test_alpaca_rows(judged):
    export = build_export(task="gate")
    samples = {sample.decision_id: sample.id for sample in DatasetSample.objects.all()}
    place = {"agent_id": "ada", "session_id": "s1"}
    assert read_rows(export) == [
        {"instruction": ASK, "input": "User: question 1\nAgent: answer 1", "output": LINES,
         "sample_id": samples["right"], **place, "turn_number": "1", "control_tokens": ""},
        {"instruction": ASK, "input": f"{FIRST}User: question 2\nAgent: answer 2",
         "output": "Decision: NO_WRITE\nFact: none\nReason: Said once.",
         "sample_id": samples["wrong"], **place, "turn_number": "2", "control_tokens": ""},
        {"instruction": ASK, "input": "User: earlier\nAgent: answer 4",
         "output": "Decision: NO_WRITE\nFact: none\nReason: Small talk.",
         "sample_id": samples["half"], **place, "turn_number": "4", "control_tokens": ""},
    ]  # fmt: skip
    assert excluded_counts(export) == {"not_approved": 1}


def test_conversations(judged):
    pairs = [(f"{ASK}\n{row['input']}", row["output"]) for row in read_rows(build_export(task="gate"))]
    exports_of = {"sharegpt": ("conversations", "value"), "openai": ("messages", "content")}
    for format_, (column, key) in exports_of.items():
        rows = read_rows(build_export(format_, "gate", name=format_))
        assert [tuple(message[key] for message in row[column]) for row in rows] == pairs


def test_samples_as_they_are_stored(judged):
    raw = read_rows(build_export("raw", "gate"))
    assert [row["sampleType"] for row in raw] == [
        "memory_gate_positive", "memory_gate_negative", "memory_gate_positive"
    ]  # fmt: skip
    assert raw[1]["content"]["incorrectFact"] == FACT
    assert (raw[1]["content"]["correctDecision"], raw[1]["content"]["rejectionReason"]) == ("NO_WRITE", "Said once.")
    assert raw[1]["gateCorrectedOutput"] == NOTHING.as_output


def test_a_table(judged):
    rows = list(csv.DictReader(files(build_export("csv", "gate"), "csv").splitlines()))
    columns = ("context", "user_message", "agent_reply", "memory_gate_decision", "candidate_fact", "gate_label")
    assert [tuple(row[name] for name in columns) for row in rows][1:] == [
        ("User: question 1Agent: answer 1", "question 2", "answer 2", "NO_WRITE", "", "corrected"),
        ("User: earlier", "", "answer 4", "NO_WRITE", "", "correct"),
    ]
    assert [row["memory_gate_reason"] for row in rows] == ["A stable preference.", "Said once.", "Small talk."]


def test_what_nobody_corrected_is_never_taught(judged):
    export = build_export(task="gate", only_approved=False)
    assert [row["turn_number"] for row in read_rows(export)] == ["1", "2", "4"]
    assert excluded_counts(export) == {"decision_incorrect": 1}
    verdicts.label_sample(DatasetSample.objects.get(decision_id="unsolved").id, "approved", by="bea")
    again = build_export("raw", "gate", name="two")
    assert excluded_counts(again) == {"decision_incorrect": 1}


def test_undone_it_is_not_taught(judged, ada):
    undo.undo("ann")
    assert [row["turn_number"] for row in read_rows(build_export(task="gate"))] == ["1", "2"]


def turn_sample(agent, number, **verdict):
    """The approved sample of a turn whose reply is good."""
    (sample_id,) = make_samples(agent, "s1", [number], by="ann").made
    verdicts.label_sample(sample_id, "approved", by="ann", **verdict)
    return sample_id


@pytest.mark.parametrize("duplicates", ["one", "keep"])
def test_a_decision_called_wrong_is_not_taught_by_the_sample_of_its_turn(judged, ada, duplicates):
    turn_sample(ada, 2)
    turn_sample(ada, 3, gate=parts.PartVerdict("correct"))
    export = build_export(task="gate", duplicates=duplicates)
    assert [row["output"][:18] for row in read_rows(export)] == [
        "Decision: UPDATE_U", "Decision: NO_WRITE", "Decision: NO_WRITE"
    ]  # fmt: skip
    assert excluded_counts(export) == {"not_approved": 1, "overruled": 2}
    with pytest.raises(Refused, match="judged otherwise on the decision itself: 2"):
        build_export(task="gate", name="two", sample_types=["annotated_turn"])


def test_a_decision_called_right_is_taught_once(judged, ada):
    turn_sample(ada, 1)
    export = build_export(task="gate")
    assert [row["turn_number"] for row in read_rows(export)] == ["1", "2", "4"]
    assert excluded_counts(export) == {"not_approved": 1, "duplicate": 1}


def test_replies_are_not_taught_by_decisions(judged, ada):
    turn_sample(ada, 1)
    types = ["annotated_turn", "memory_gate_positive", "memory_gate_negative"]
    for format_ in ("alpaca", "sharegpt"):
        export = build_export(format_, name=format_, sample_types=types)
        assert [row["turn_number"] for row in read_rows(export)] == ["1"]
        assert excluded_counts(export) == {"not_approved": 1, "not_a_turn": 3}
    assert orjson.loads(exports.create_export("two", "alpaca", "reply", by="ann").sample_types) == ["annotated_turn"]


def test_turns_that_openclaw_started_are_left_out(ada):
    DatasetSample.objects.all().delete()
    store_decision("right", turn="s1:u1")
    judge_decision(ada, "right")
    store_decision("half", turn="s1:u2")
    judge_decision(ada, "half")
    DatasetSample.objects.filter(decision_id="half").update(prompted_by="cron")
    assert excluded_counts(build_export(task="gate")) == {"injected": 1}
