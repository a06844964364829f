"""Verdicts on decisions and writes: the state of their sample, and verdicts that are refused."""

import pytest

from datasets.kinds import decision, write
from datasets.models import DatasetSample, ReviewAction, SampleLabel, SampleSignature
from datasets.review import undo, verdicts
from openclaw_web.errors import Refused
from tests.datasets.kinds.cases import AFTER
from tests.datasets.kinds.gates import FACT

pytestmark = pytest.mark.django_db


def only():
    return DatasetSample.objects.get()


def state(sample):
    return verdicts.read_columns(sample) | verdicts.read_shape(sample)


def test_said_twice_it_is_said_once(case):
    first, again = case.judge(), case.judge(by="bea")
    assert (first.id, only().annotated_by) == (again.id, "ann")
    case.check("right")
    assert SampleLabel.objects.count() == ReviewAction.objects.count() == 1
    assert SampleSignature.objects.get().sample_id == first.id


def test_another_verdict_changes_the_same_sample(case):
    for verdict, by in (("right", "ann"), ("corrected", "bea"), ("wrong", "ann"), ("right", "bea")):
        case.judge(verdict, by=by)
        case.check(verdict)
        assert only().annotated_by == by
    assert SampleLabel.objects.count() == 4


@pytest.mark.parametrize("given", [("right", "corrected", "wrong"), ("corrected",)])
def test_undo_takes_each_verdict_back_exactly(case, given):
    states = [state(case.judge(verdict)) for verdict in given]
    for before in states[-2::-1]:
        undo.undo("ann")
        assert state(only()) == before
    undo.undo("ann")
    assert (only().annotation_status, case.label_of(only()), only().annotated_by) == (None, None, None)
    assert only().body.get("correctDecision") == case.corrections.get(given[0].replace("corrected", "wrong"))


def test_a_verdict_that_was_not_seen_is_not_replaced(case):
    sample = case.judge(expected="")
    for expected in ("", "another"):
        with pytest.raises(Refused, match="ann chose Approved"):
            case.judge("wrong", by="bea", expected=expected)
    case.judge("wrong", by="bea", expected=sample.label_id)
    assert only().annotated_by == "bea"


@pytest.mark.parametrize(
    ("case", "verdict", "correction", "why"),
    [
        ("decision", "maybe", None, "either right or wrong"),
        ("decision", "right", decision.Correction("NO_WRITE"), "Only a wrong decision"),
        ("decision", "wrong", decision.Correction("MAYBE"), "Choose the decision"),
        ("decision", "wrong", decision.Correction("UPDATE_SOUL"), "Enter the fact"),
        ("decision", "wrong", decision.Correction("UPDATE_USER", FACT), "This is what the gate decided"),
        ("decision", "wrong", decision.Correction("", reason=" "), "Say why the decision is wrong"),
        ("decision", "wrong", decision.Correction("NO_WRITE"), "Say why the decision is wrong"),
        ("write", "maybe", None, "either right or wrong"),
        ("write", "right", write.Correction("refused"), "Only a wrong write"),
        ("write", "wrong", write.Correction("failed"), "either written or refused"),
        ("write", "wrong", write.Correction("written"), "This is what was done"),
        ("write", "wrong", write.Correction("written", content=AFTER.decode()), "This is what was done"),
        ("write", "wrong", write.Correction("refused", content="x"), "leave its content out"),
    ],
    indirect=["case"],
)
def test_what_cannot_be_said(case, verdict, correction, why):
    with pytest.raises(Refused, match=why):
        case.judge(verdict, correction=correction)
    assert not DatasetSample.objects.exists()
