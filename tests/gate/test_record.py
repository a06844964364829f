"""Decisions that a running plugin reports through the API."""

import pytest

from artifacts.models import Artifact
from gate.models import GateWindow, MemoryGateDecision, MemoryGateStats
from gate.recording import windows
from ledger.models import ConversationContext
from people.configuration import setting_values as configuration
from tests import factories
from tests.factories import T0
from tests.gate.decision_rows import MINUTE, create_turns

pytestmark = pytest.mark.django_db
URL = "/api/v1/agents/ada/gate/decisions"


@pytest.fixture
def turns(ada):
    return create_turns()


def make_report(number=1, **more):
    return {
        "id": f"d{number}",
        "turn_id": f"s1:u{number}",
        "session_id": "s1",
        "decision": "UPDATE_USER",
        "reason": "Likes tea.",
        "candidate_fact": "The user likes tea.",
        "llm_model": "gate-1",
        "llm_latency_ms": 120,
        "prompt_tokens": 400,
        "completion_tokens": 30,
        "raw_response": '{"decision": "UPDATE_USER"}',
        "created_at": T0 + number * MINUTE + 1_200,
    } | more


def post(client, *decisions):
    return client.post(URL, {"decisions": list(decisions)}, content_type="application/json")


def rows():
    return MemoryGateDecision.objects.using("agent_ada")


def test_a_decision_is_stored_with_its_turn_and_window(as_operator, turns):
    answer = post(as_operator, make_report(2))
    assert (answer.status_code, answer.json()) == (201, {"recorded": ["d2"], "known": [], "withheld": 0})
    row = rows().get()
    assert (row.turn_id, row.session_id, row.match, row.origin) == ("s1:u2", "s1", "given", "recorded")
    window = windows.read_window("agent_ada", row.window_hash)
    assert row.is_window_derived
    assert [message["message"] for message in window.recent] == ["Question 0", "Answer 0", "Question 1", "Answer 1"]
    assert (window.user, window.reply) == ("Question 2", "Answer 2")
    contexts = ConversationContext.objects.using("agent_ada").filter(turn_id="s1:u2").order_by("sequence_number")
    assert [row.message for row in contexts] == ["Question 0", "Answer 0", "Question 1", "Answer 1"]


def test_the_window_that_was_told_is_kept(as_operator, turns):
    seen = [{"role": "user", "message": "Only this", "timestamp": T0}]
    post(as_operator, make_report(1, context=seen), make_report(2, context=seen))
    first, second = rows().order_by("id")
    assert not first.is_window_derived
    assert list(windows.read_window("agent_ada", first.window_hash).recent) == seen
    assert first.window_hash != second.window_hash  # their turns differ
    assert GateWindow.objects.using("agent_ada").count() == 2


def test_the_names_of_the_interface_mean_the_same(as_operator, turns):
    body = {
        "id": "d1", "turnId": "s1:u1", "sessionId": "agent:ada:irc:group:#s1", "decision": "NO_WRITE",
        "reason": "Small talk.", "llmCall": {"model": "gate-1", "latencyMs": 80, "promptTokens": 9},
        "createdAt": T0 + MINUTE,
    }  # fmt: skip
    assert post(as_operator, body).status_code == 201
    row = rows().get()
    assert (row.llm_model, row.llm_latency_ms, row.prompt_tokens, row.session_id) == ("gate-1", 80, 9, "s1")


def test_told_twice_it_is_one(as_operator, turns):
    post(as_operator, make_report())
    answer = post(as_operator, make_report())
    assert (answer.status_code, answer.json()["known"]) == (200, ["d1"])
    assert rows().count() == MemoryGateStats.objects.using("agent_ada").get().total_decisions == 1


def test_an_id_with_another_body_is_a_conflict_and_stores_nothing(as_operator, turns):
    post(as_operator, make_report())
    answer = post(as_operator, make_report(2), make_report(1, reason="Something else."))
    assert answer.status_code == 409
    assert answer.json()["reasons"][0]["id"] == "d1"
    assert rows().count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"decision": "UPDATE_EVERYTHING"},
        {"candidate_fact": None},
        {"candidate_fact": "  "},
        {"llm_latency_ms": -1},
        {"llm_latency_ms": 2**60},
        {"raw_response": "x" * 1_000_001},
        {"created_at": "yesterday"},
        {"created_at": 2**53},
        {"created_at": 253_402_300_800_000},  # the year 10000 has no date
        {"cost_usd": float("1e300")},
        {"cost_usd": True},
        {"cost_usd": "0.1"},
        {"prompt_tokens": True},
        {"id": ""},
        {"colour": "red"},
    ],
)
def test_what_cannot_be_is_refused_whole(as_operator, turns, wrong):
    answer = post(as_operator, make_report(2), make_report(1, **wrong))
    assert answer.status_code == 422
    assert not rows().exists()


def test_another_agents_turn_is_none_and_another_sessions_is_refused(as_operator, turns, bob):
    factories.SessionFactory(id="s2", session_key=None)
    assert post(as_operator, make_report(1, session_id="s2")).status_code == 404
    assert not rows().exists()
    factories.TurnFactory(db="agent_bob", id="b1:u1", session=factories.SessionFactory(db="agent_bob", id="b1"))
    assert post(as_operator, make_report(1, turn_id="b1:u1")).status_code == 201
    row = rows().get()
    assert (row.turn_id, row.match, row.named_turn_id) == ("s1:u1", "near", "b1:u1")  # as without: by time


def test_without_a_turn_it_is_found_by_key_and_time(as_operator, turns):
    post(as_operator, make_report(1, turn_id=None, session_id="channel:irc:group:#s1"))
    row = rows().get()
    assert (row.turn_id, row.match, row.session_key) == ("s1:u1", "near", "channel:irc:group:#s1")
    post(as_operator, make_report(2, id="far", turn_id=None, session_id="nobody", created_at=T0 + 9_000_000))
    assert rows().get(id="far").turn_id is None


def test_a_long_response_is_an_artifact(as_operator, turns):
    post(as_operator, make_report(raw_response="x" * 900_000))
    assert rows().get().raw_response.startswith("ocm_artifact:v1:sha256:")


def test_of_what_is_refused_or_known_no_artifact_is_made(as_operator, turns):
    post(as_operator, make_report(1))
    assert (
        post(
            as_operator, make_report(2, raw_response="x" * 70_000), make_report(1, reason="Something else.")
        ).status_code
        == 409
    )
    assert post(as_operator, make_report(1, raw_response="y" * 70_000)).status_code == 409
    assert not Artifact.objects.using("agent_ada").exists()


def test_settings_turn_recording_and_responses_off(as_operator, turns):
    configuration.put("memoryGateAuditing.storeRawLLMResponse", False)
    post(as_operator, make_report(1))
    assert rows().get().raw_response is None
    configuration.put("memoryGateAuditing.enabled", False)
    assert post(as_operator, make_report(2)).status_code == 409
    assert rows().count() == 1


def test_words_of_who_opted_out_are_counted_and_not_stored(as_operator, turns):
    configuration.put("collector.optedOutSenders", ["somebody"])
    answer = post(as_operator, make_report(1), make_report(2, turn_id=None, session_id="nobody"))
    assert answer.json() == {"recorded": [], "known": [], "withheld": 2}
    assert not rows().exists()
