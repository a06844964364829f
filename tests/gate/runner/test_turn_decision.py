"""Turns judged by our own gate: requests, stored rows, and turns that are not judged."""

import pytest

from gate.models import GatePrompt, GateWindow
from gate.recording import windows
from gate.runner import prompts
from ledger.models import ConversationTurn
from openclaw_web import clock
from people.configuration import setting_values as configuration
from tests import factories
from tests.factories import T0
from tests.llm_endpoint import says

from .judged_turns import DB, MINUTE, USED, answer, calls, create_turns, decides, decisions, outcomes, run

pytestmark = pytest.mark.django_db


def test_a_turn_is_judged_with_its_window(ada, endpoint):
    create_turns(3)
    job = run(ada)
    assert (job.state, job.message) == ("finished", "3 turns judged.")
    row = decisions()[2]
    assert (row.turn_id, row.session_id, row.session_key) == ("s1:u2", "s1", "agent:ada:irc:group:#s1")
    assert (row.decision, row.reason, row.candidate_fact) == ("UPDATE_USER", "Likes tea.", "The user likes tea.")
    assert (row.origin, row.match, row.sources, row.llm_model) == ("own", "given", 8, "small")
    assert (row.prompt_tokens, row.completion_tokens, row.cost_usd) == (700, 40, None)
    assert row.raw_response == answer()
    assert row.prompt_version == prompts.compute_version(prompts.BUILT_IN) == GatePrompt.objects.using(DB).get().id
    assert (row.saw_user, row.is_window_derived) == (True, False)
    window = windows.read_window(DB, row.window_hash)
    assert [message["message"] for message in window.recent] == ["Question 0", "Answer 0", "Question 1", "Answer 1"]
    assert (window.user, window.reply) == ("Question 2", "Answer 2")


def test_the_request_has_two_messages_and_nothing_else_of_the_transcript(ada, endpoint):
    create_turns(2, model="a-secret-model")
    run(ada)
    request = endpoint.requests[1]
    assert request.headers["Authorization"] == "Bearer sk-test"
    assert request.question.keys() == {"model", "messages", "max_tokens", "temperature", "stream"}
    system, user = request.question["messages"]
    assert system == {"role": "system", "content": prompts.BUILT_IN}
    assert user["role"] == "user"
    assert user["content"] == windows.read_window(DB, decisions()[1].window_hash).text.decode()
    assert not any(word in request.body for word in (b"s1", b"u1", b"irc", b"a-secret-model"))


def test_every_call_has_a_row_that_says_what_it_used(ada, endpoint):
    configuration.put("llm.prices", ["small: 1 10"])
    create_turns(1)
    run(ada)
    call, row = calls().get(), decisions().get()
    assert (call.outcome, call.attempt, call.decision_id, call.turn_id) == ("decided", 1, row.id, "s1:u0")
    assert (call.prompt_tokens, call.completion_tokens, call.reserved_tokens) == (700, 40, 740)
    assert call.cost_usd == row.cost_usd == pytest.approx((700 * 1 + 40 * 10) / 1e6)
    assert call.window_hash == row.window_hash
    assert call.raw_response is None  # it is in its decision


def test_the_endpoints_own_figure_comes_before_the_price(ada, endpoint):
    configuration.put("llm.prices", ["small: 1 10"])
    endpoint.then(says(answer(), **USED, cost=0.25))
    create_turns(1)
    run(ada)
    assert decisions().get().cost_usd == calls().get().cost_usd == 0.25


def test_without_usage_nothing_is_guessed(ada, endpoint):
    configuration.put("llm.prices", ["small: 1 10"])
    endpoint.then(says(answer()))
    create_turns(1)
    run(ada)
    row, call = decisions().get(), calls().get()
    assert (row.prompt_tokens, row.cost_usd, call.prompt_tokens, call.cost_usd) == (None, None, None, None)
    assert call.reserved_tokens > 2_000  # of the limit it counts with the most it may have used


def test_turns_with_a_decision_of_anybody_are_judged_only_when_asked_to(ada, endpoint):
    create_turns(2)
    factories.DecisionFactory(turn_id="s1:u0", session_id="s1", origin="imported")
    run(ada)
    assert [request.question["model"] for request in endpoint.requests] == ["small"]
    run(ada, is_again=True)
    assert len(endpoint.requests) == 2
    run(ada, is_again=True)
    assert len(endpoint.requests) == 2  # the same model with the same prompt has judged both
    configuration.put("memoryGate.prompt", "Decide.")
    run(ada, is_again=True)
    assert len(endpoint.requests) == 4
    assert endpoint.requests[-1].question["messages"][0]["content"] == "Decide."
    assert set(GatePrompt.objects.using(DB).values_list("id", flat=True)) == {
        prompts.compute_version("Decide."), prompts.compute_version(prompts.BUILT_IN),
    }  # fmt: skip


@pytest.mark.parametrize(
    "left_alone",
    [
        {"user_message_content": "[cron:74a5 Morning orders] Write the orders."},
        {"user_message_content": "Read HEARTBEAT.md if it exists"},
        {"agent_message_id": None, "agent_message_content": ""},
        {"agent_message_content": "NO_REPLY"},
        {"agent_message_content": f"{'x' * 9_000} HEARTBEAT_OK"},
        {"is_active": False},
    ],
)
def test_only_answered_turns_of_people_are_judged(ada, endpoint, left_alone):
    create_turns(2)
    ConversationTurn.objects.using(DB).filter(id="s1:u1").update(**left_alone)
    run(ada)
    assert [row.turn_id for row in decisions()] == ["s1:u0"]


def test_a_turn_that_has_not_ended_waits(ada, endpoint, later):
    create_turns(1, start=clock.now_ms() - 30_000)
    create_turns(1, session_id="s2", start=clock.now_ms() - 30 * MINUTE, agent_metadata='{"stopReason":"toolUse"}')
    run(ada)
    assert not decisions()
    later(seconds=60)
    run(ada)
    assert [row.turn_id for row in decisions()] == ["s1:u0"]
    later(hours=1)
    run(ada)
    assert decisions().count() == 2


def test_which_turns_can_be_asked_for(ada, endpoint):
    create_turns(4)
    create_turns(2, session_id="s2", start=T0 + 10 * MINUTE)
    run(ada, session="agent:ada:irc:group:#s2", limit=1)
    assert [row.turn_id for row in decisions()] == ["s2:u1"]  # the newest
    run(ada, since=T0 + MINUTE, until=T0 + 3 * MINUTE)
    assert [row.turn_id for row in decisions()] == ["s1:u1", "s1:u2", "s2:u1"]
    sent_texts = [request.words for request in endpoint.requests]
    assert ["Question 1" in sent_texts[1], "Question 2" in sent_texts[2]] == [True, True]  # the oldest first


def test_the_size_of_the_window_is_a_setting(ada, endpoint):
    create_turns(6)
    configuration.put("memoryGate.windowSize", 3)
    run(ada, limit=1)
    window = windows.read_window(DB, decisions().get().window_hash)
    assert [message["message"] for message in window.recent] == ["Answer 3", "Question 4", "Answer 4"]
    configuration.put("memoryGate.windowSize", 0)
    run(ada, limit=1)
    assert windows.read_window(DB, decisions()[0].window_hash).recent == ()


def test_nothing_from_before_a_reset_is_shown(ada, endpoint):
    create_turns(3)
    kinds = dict.fromkeys(("kind", "event_type"), "reset")
    factories.EventFactory(db=DB, session_id="s1", seq=3, event_json="{}", **kinds)
    run(ada, limit=1)
    window = windows.read_window(DB, decisions().get().window_hash)
    assert [message["message"] for message in window.recent] == []
    assert window.user == "Question 2"


def test_without_raw_responses_none_is_kept(ada, endpoint):
    configuration.put("memoryGateAuditing.storeRawLLMResponse", False)
    endpoint.then(decides(), says("no decision"))
    create_turns(2)
    run(ada)
    assert outcomes() == ["decided", "malformed"]
    assert {row.raw_response for row in (*decisions(), *calls())} == {None}


def test_long_malformed_answers_are_artifacts(ada, endpoint):
    endpoint.then(says("x" * 200_000))
    create_turns(1)
    run(ada)
    assert calls().get().raw_response.startswith("ocm_artifact:v1:sha256:")
    assert GateWindow.objects.using(DB).count() == 1  # what was sent is known
