"""Samples of decisions: their content, the gate's window, and decisions without samples."""

import pytest

from datasets.kinds import verdict_service
from datasets.kinds.decision import DECISION, Correction
from datasets.kinds.kind import VERDICTS
from datasets.models import DatasetSample
from datasets.review import undo, verdicts
from datasets.review.parts import PartVerdict
from gate.models import GateWindow, MemoryGateDecision
from gate.recording import windows
from ledger.models import ConversationTurn
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.datasets.conversations import agent, store_session, store_turns, user
from tests.datasets.kinds.gates import FACT, make_window, store_decision
from tests.guardian.write_rows import create_write

pytestmark = pytest.mark.django_db
WINDOW = [
    {"role": "user", "message": "question 1"},
    {"role": "agent", "message": "answer 1"},
    {"role": "user", "message": "question 2"},
    {"role": "agent", "message": "answer 2"},
]
NOTHING = Correction("NO_WRITE", reason="Small talk.")


@pytest.fixture
def decision(ada):
    """A decision on the second of three turns."""
    store_turns(3)
    return store_decision()


def judge(agent, verdict="right", correction=None, name="d1"):
    return verdict_service.give_verdict(DECISION, agent, name, verdict, by="ann", correction=correction)


def only():
    return DatasetSample.objects.get()


def test_right_makes_a_positive_sample(ada, decision):
    judge(ada)
    sample = only()
    assert sample.body == {
        "type": "memory_gate_positive",
        "conversation": WINDOW,
        "correctDecision": "UPDATE_USER",
        "correctFact": FACT,
        "correctReason": "A stable preference.",
        "evidence": {},
        "turnMessages": 2,
        "windowDerived": True,
    }
    assert (sample.agent_id, sample.session_id, sample.turn_id, sample.turn_number) == ("ada", "s1", "s1:u2", 2)
    assert (sample.decision_id, sample.collection_strategy) == ("d1", "manual")
    assert (sample.prompted_by, sample.reply_stop, sample.turn_traits) == ("", "", "")


@pytest.mark.parametrize(
    ("statuses", "was_written"),
    [(("written",), True), (("refused",), False), (("refused", "written"), True), (("rolled_back",), True)],
)
def test_what_the_guardian_made_of_it_is_evidence(ada, decision, statuses, was_written):
    for number, status in enumerate(statuses, 1):
        create_write("agent_ada", number, b"a\n", b"b\n", status=status, decision_id="d1")
    judge(ada)
    assert only().body["evidence"] == {"wasWritten": was_written}
    judge(ada, "wrong", NOTHING)
    assert only().body["evidence"] == {"wasWritten": was_written}


def test_wrong_with_what_would_be_right_makes_a_negative_sample(ada, decision):
    judge(ada, "wrong", NOTHING)
    assert only().body == {
        "type": "memory_gate_negative",
        "incorrectDecision": "UPDATE_USER",
        "incorrectFact": FACT,
        "incorrectReason": "A stable preference.",
        "correctDecision": "NO_WRITE",
        "correctFact": "",
        "correctReason": "Small talk.",
        "rejectionReason": "Small talk.",
        "conversation": WINDOW,
        "turnMessages": 2,
        "windowDerived": True,
    }


def test_wrong_alone_says_nothing_of_what_would_be_right(ada, decision):
    judge(ada, "wrong", Correction("", reason="Said once."))
    reasons = [only().body[name] for name in ("correctDecision", "correctReason", "rejectionReason")]
    assert reasons == [None, None, "Said once."]
    right = Correction("UPDATE_SOUL", "f", "It lasts.").as_output
    verdicts.label_sample(only().id, "approved", by="bea", gate=PartVerdict("corrected", right))
    assert only().body["correctDecision"] == "UPDATE_SOUL"


def test_the_conversation_is_what_the_gate_saw(ada):
    store_turns(3)
    store_decision(window=make_window(("user", "earlier"), ("agent", "before"), reply="answer 2"))
    judge(ada)
    body = only().body
    assert body["conversation"] == [
        {"role": "user", "message": "earlier"},
        {"role": "agent", "message": "before"},
        {"role": "agent", "message": "answer 2"},
    ]
    assert (body["turnMessages"], body["windowDerived"]) == (1, False)


def state(sample):
    return verdicts.read_columns(sample) | verdicts.read_shape(sample)


def test_another_verdict_in_the_review_queue_is_the_decisions_too(ada, decision):
    sample = judge(ada)
    verdicts.label_sample(sample.id, "approved", by="bea", gate=PartVerdict("corrected", NOTHING.as_output))
    assert (only().sample_type, only().body["correctDecision"]) == ("memory_gate_negative", "NO_WRITE")
    undo.undo("bea")
    assert state(only()) == state(sample)


def test_a_decision_has_no_reply_to_edit(ada, decision):
    sample = judge(ada)
    with pytest.raises(Refused, match="teaches no reply"):
        verdicts.label_sample(sample.id, "approved", by="bea", output="better")
    assert only().output is None


def test_the_same_decision_with_another_fact_is_a_correction(ada, decision):
    judge(ada, "wrong", Correction("UPDATE_USER", "prefers late mornings", "Said late."))
    assert only().body["correctFact"] == "prefers late mornings"


@pytest.mark.parametrize("verdict", VERDICTS)
def test_decisions_that_cannot_become_samples(ada, verdict):
    store_turns(3)
    store_decision("unmatched", turn=None)
    store_decision("windowless")
    MemoryGateDecision.objects.using(ada.db).filter(id="windowless").update(window_hash=None)
    store_decision("gone", turn="s1:u9")
    store_decision("empty", window=make_window())
    store_decision("lost", turn="s1:u3")
    lost = MemoryGateDecision.objects.using(ada.db).get(id="lost").window_hash
    GateWindow.objects.using(ada.db).filter(hash=lost).delete()
    for name, reason in (
        ("unmatched", "What the gate saw is not stored"),
        ("windowless", "What the gate saw is not stored"),
        ("lost", "What the gate saw is not stored"),
        ("gone", "no longer stored"),
        ("empty", "saw no message"),
        ("nowhere", "no such decision"),
    ):
        with pytest.raises(Refused, match=reason):
            judge(ada, verdict, name=name)
    assert not DatasetSample.objects.exists()


@pytest.fixture
def group(ada):
    """Three people, one of whom opts out."""
    store_session([user("u1", "I like tea", sender="42"), agent("a1", "noted"), user("u2", "me too", sender="7"),
          agent("a2", "fine"), user("u3", "and cake", sender="7"), agent("a3", "good")])  # fmt: skip
    return lambda: configuration.put("collector.optedOutSenders", ["42"])


def test_words_of_who_opted_out_are_not_used(ada, group):
    store_decision("own", turn="s1:u1")
    store_decision("before", turn="s1:u2")
    store_decision("told", turn="s1:u3", window=make_window(("user", "from elsewhere"), user="and cake", reply="good"))
    store_decision(
        "free", turn="s1:u3", window=make_window(("user", "me too"), ("agent", "fine"), user="and cake", reply="good")
    )
    store_decision("near", turn="s1:u3", match="near", window=make_window(user="I like tea", reply="good"))
    store_decision(
        "ahead", turn="s1:u2", window=make_window(("user", "and cake"), user="me too", reply="fine")
    )  # sent only later
    group()
    for name in ("own", "before", "told", "near", "ahead"):
        with pytest.raises(Refused, match="opted out"):
            judge(ada, name=name)
    together = MemoryGateDecision.objects.using(ada.db).all()
    assert windows.find_withheld(ada.db, together) == {"own", "before", "told", "near", "ahead"}
    judge(ada, name="free")
    assert only().decision_id == "free"


def test_without_a_verdict_it_is_a_sample_of_the_turn(ada, decision):
    store_decision("later", decision="NO_WRITE", candidate_fact=None, created_at=decision.created_at + 5_000)
    sample = judge(ada, "none")
    assert (sample.sample_type, sample.annotation_status, sample.decision_id) == ("annotated_turn", "pending", "d1")
    assert sample.body["memoryGate"]["output"]["decision"] == "UPDATE_USER"
    assert judge(ada, "none").id == sample.id
    ConversationTurn.objects.using(ada.db).filter(id="s1:u3").update(is_active=False)
    store_decision("aside", turn="s1:u3")
    with pytest.raises(Refused, match="abandoned branch"):
        judge(ada, "none", name="aside")
    judge(ada, name="aside")  # the gate's window is stored, although the turn is inactive
