"""Retention removes old sessions with gate decisions; the decisions stay with their windows."""

import orjson
import pytest

from artifacts.models import Artifact
from gate.models import GateCall, GateReplay, GateReplayDecision, GateWindow, MemoryGateDecision
from gate.recording import windows
from ledger.models import ConversationContext, ConversationTurn, Session
from ledger.transcripts import contexts, removal
from operations.artifact_gc import services as artifact_gc
from operations.retention import session_selection
from tests.factories import T0, SampleFactory, SessionFactory, TurnFactory

from .old_sessions import count_kept, remove
from .test_retention_evidence import HANDLE, store_artifact

pytestmark = pytest.mark.django_db
DB, BEFORE = "agent_ada", T0 + 10_000_000
URL = "/api/v1/agents/ada/gate/decisions"


@pytest.fixture
def old(ada, settings, tmp_path):
    """A session of three turns that ended long ago."""
    settings.HOME_DIR = tmp_path / "home"
    (settings.HOME_DIR / "state").mkdir(parents=True)
    session = SessionFactory(db=DB, id="s", last_activity_at=T0, channel_id="irc")
    for number in range(3):
        TurnFactory(
            db=DB, id=f"s:u{number}", session=session, turn_number=number, created_at=T0 + number * 60_000,
            user_message_id=f"u{number}", user_message_content=f"Question {number}", first_seq=2 * number,
            agent_message_id=f"a{number}", agent_message_content=f"Answer {number}", last_seq=2 * number + 1,
        )  # fmt: skip
    return session


def build_decision(number, **more):
    about = {"session_id": "s", "decision": "NO_WRITE", "reason": "Small talk.", "llm_model": "gate-1"}
    return {"id": f"d{number}", "turn_id": f"s:u{number}", "created_at": T0 + number * 60_000 + 1_000, **about} | more


def record(client, *decisions):
    answer = client.post(URL, orjson.dumps({"decisions": decisions}), content_type="application/json")
    assert answer.status_code == 201, answer.content


def read_windows():
    """Return the window of each decision, by the id of the decision."""
    rows = MemoryGateDecision.objects.using(DB).order_by("id")
    return {row.id: windows.read_window(DB, row.window_hash) for row in rows}


def test_a_session_that_was_judged_may_go_and_its_decisions_stay(as_operator, old):
    record(as_operator, *map(build_decision, range(3)))
    before, rows = read_windows(), list(MemoryGateDecision.objects.using(DB).order_by("id").values())
    assert count_kept(BEFORE) == {} and remove("s", BEFORE)
    assert not ConversationTurn.objects.using(DB).exists() and not ConversationContext.objects.using(DB).exists()
    assert list(MemoryGateDecision.objects.using(DB).order_by("id").values()) == rows
    assert read_windows() == before
    assert [message["message"] for message in before["d2"].recent] == [
        *("Question 0", "Answer 0", "Question 1", "Answer 1")
    ]
    assert (before["d2"].user, before["d2"].reply) == ("Question 2", "Answer 2")


def test_a_sample_keeps_it_all_the_same(as_operator, old):
    record(as_operator, build_decision(1))
    SampleFactory(agent_id="ada", session_id="s")
    assert count_kept(BEFORE) == {"samples": 1}


@pytest.mark.parametrize("is_window_there", [True, False])
def test_messages_that_are_kept_nowhere_else_keep_it(as_operator, old, is_window_there):
    record(as_operator, build_decision(2))
    if is_window_there:  # messages kept for another turn, which has no decision
        contexts.store_contexts(DB, [ConversationTurn.objects.using(DB).get(id="s:u1")], 10)
    else:
        GateWindow.objects.using(DB).all().delete()
    assert count_kept(BEFORE) == {"contexts": 1}
    with pytest.raises(removal.NotRemoved):
        remove("s", BEFORE)


def test_an_output_that_a_decision_speaks_of_keeps_its_session(as_operator, old):
    store_artifact(old)
    record(
        as_operator,
        build_decision(2, decision="UPDATE_USER", reason="Is in the file.", candidate_fact=f"See {HANDLE}."),
    )
    assert count_kept(BEFORE) == {"mentions": 1}


def test_what_the_gate_was_shown_or_replayed_keeps_nothing(as_operator, old):
    store_artifact(old)
    ConversationTurn.objects.using(DB).update(agent_message_content=f"The log is {HANDLE}")
    record(as_operator, build_decision(2))
    replay = GateReplay.objects.using(DB).create(
        id="r", llm_model="gate-2", prompt_version="p", started_by="mei", created_at=T0
    )
    columns = {"decision_id": "d2", "original": "NO_WRITE", "decision": "NO_WRITE", "reason": f"Is in {HANDLE}"}
    GateReplayDecision.objects.using(DB).create(replay=replay, number=1, created_at=T0, **columns)
    GateCall.objects.using(DB).create(
        id="c", session_id="s", turn_id="s:u2", replay_id="r", origin="own", outcome="decided", created_at=T0,
        raw_response=HANDLE,
    )  # fmt: skip
    assert count_kept(BEFORE) == {} and remove("s", BEFORE)


def test_long_responses_outlive_the_session(as_operator, old):
    """A response that is an artifact belongs to its decision, and outlives its session.

    Neither retention nor garbage collection removes it.
    """
    record(as_operator, build_decision(1, raw_response="word " * 50_000))
    handle = MemoryGateDecision.objects.using(DB).get().raw_response
    assert handle.startswith("ocm_artifact:") and count_kept(BEFORE) == {} and remove("s", BEFORE)
    row = Artifact.objects.using(DB).get(handle=handle)
    assert row.session_id is None and orjson.loads(row.meta_json) == {"session_id": "s", "turn_id": "s:u1"}
    assert artifact_gc.collect_garbage(older_than=0, is_dry_run=False, by="mei").removed == 0


@pytest.mark.parametrize("named_by", ["decision", "call"])
def test_a_response_without_a_row_is_not_cleared_while_it_is_named(as_operator, old, named_by):
    record(as_operator, build_decision(1, raw_response="word " * 50_000))
    handle = MemoryGateDecision.objects.using(DB).get().raw_response
    Artifact.objects.using(DB).all().delete()
    if named_by == "call":
        MemoryGateDecision.objects.using(DB).update(raw_response=None)
        GateCall.objects.using(DB).create(
            id="c", session_id="s", origin="own", outcome="failed", created_at=T0, raw_response=handle
        )
    assert artifact_gc.collect_garbage(older_than=0, is_dry_run=False, by="mei").removed == 0
    MemoryGateDecision.objects.using(DB).update(raw_response=None)
    GateCall.objects.using(DB).all().delete()
    assert artifact_gc.collect_garbage(older_than=0, is_dry_run=False, by="mei").removed == 1


def test_the_number_of_queries_does_not_grow(as_operator, old, django_assert_max_num_queries):
    record(as_operator, *map(build_decision, range(3)))
    for number in range(20):
        SessionFactory(db=DB, id=f"other-{number}", last_activity_at=T0)
    with django_assert_max_num_queries(40, using=DB):
        assert session_selection.count_old_sessions("ada", DB, BEFORE).sessions == Session.objects.using(DB).count()
