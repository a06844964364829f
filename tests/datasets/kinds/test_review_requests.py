"""Decisions that are sent to review, and people's verdicts on decisions."""

import pytest

from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION, Correction
from datasets.kinds.review_requests import describe_problems, queue_decisions
from datasets.kinds.verdict_service import find_verdicts
from datasets.models import DatasetSample
from datasets.review import parts, verdicts
from datasets.services import make_samples
from gate.models import MemoryGateDecision
from tests.datasets.conversations import store_turns
from tests.datasets.kinds.gates import store_decision

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def decisions(ada):
    store_turns(6)
    store_turns(1, session_id="s2", about=" elsewhere")
    for number in range(1, 7):
        store_decision(f"d{number}", turn=f"s1:u{number}")


def reasons(result):
    return {skipped["id"]: skipped["reason"] for skipped in result.skipped}


def test_it_works(ada):
    store_decision("other", turn="s2:u1", session_id="s2")
    result = queue_decisions(ada, ["d2", "d1", "other", "d2"], by="ann")
    samples = DatasetSample.objects.in_bulk(result.made)
    assert {sample.decision_id for sample in samples.values()} == {"d1", "d2", "other"}
    assert {(sample.sample_type, sample.annotation_status) for sample in samples.values()} == {
        ("annotated_turn", "needs_review")
    }
    assert result.sentence == "3 samples added to the queue."
    again = queue_decisions(ada, ["d1", "d2"], by="bea")
    assert (len(again.existing), again.made, again.skipped) == (2, [], [])
    assert again.sentence == "0 samples added to the queue, 2 already existed."


def test_what_people_have_judged_is_left_to_them(ada):
    store_decision("twin", turn="s1:u5", decision="NO_WRITE", candidate_fact=None)
    store_decision("unmatched", turn=None)
    verdict_service.give_verdict(DECISION, ada, "d1", "right", by="ann")
    (reviewed,) = make_samples(ada, "s1", [2], by="ann").made
    verdicts.label_sample(reviewed, "rejected", by="ann")
    (labelled,) = make_samples(ada, "s1", [3], by="ann").made
    verdicts.label_sample(labelled, "pending", by="ann", gate=parts.PartVerdict("correct"))
    verdict_service.give_verdict(DECISION, ada, "d4", "none", by="ann")
    store_decision("rival", turn="s1:u4")
    result = queue_decisions(ada, ["d1", "d2", "d3", "rival", "d5", "twin", "unmatched", "nowhere"], by="ann")
    assert reasons(result) == {
        "d1": "Somebody has judged this decision.",
        "d2": "The sample of its turn has been reviewed.",
        "d3": "Somebody has judged this decision.",
        "rival": "The sample of its turn is about another decision.",
        "twin": "Another decision of the same turn is in the queue.",
        "unmatched": "What the gate saw is not stored for this decision, so it cannot become a sample.",
        "nowhere": "There is no such decision.",
    }
    assert len(result.made) == 1
    assert result.sentence == "1 sample added to the queue, 7 decisions skipped."
    assert "2 decisions: Somebody has judged this decision." in describe_problems(result)


def test_what_people_said(ada):
    verdict_service.give_verdict(DECISION, ada, "d1", "right", by="ann")
    verdict_service.give_verdict(DECISION, ada, "d2", "wrong", by="ann", correction=Correction("", reason="Once."))
    nothing = Correction("NO_WRITE", reason="Once.")
    corrected = verdict_service.give_verdict(DECISION, ada, "d3", "wrong", by="bea", correction=nothing)
    (of_turn,) = make_samples(ada, "s1", [4], by="ann").made
    verdicts.label_sample(of_turn, "approved", by="ann", gate=parts.PartVerdict("incorrect", {"reason": "Once."}))
    judgments = find_verdicts(DECISION, ada, MemoryGateDecision.objects.using(ada.db))
    assert {name: (judgment.label, judgment.is_own) for name, judgment in judgments.items()} == {
        "d1": ("correct", True), "d2": ("incorrect", True), "d3": ("corrected", True), "d4": ("incorrect", False)
    }  # fmt: skip
    judgment = judgments["d3"]
    assert (judgment.by, judgment.sample_id, judgment.status, judgment.is_right) == (
        "bea",
        corrected.id,
        "approved",
        False,
    )
    assert judgment.corrected["decision"] == "NO_WRITE"
