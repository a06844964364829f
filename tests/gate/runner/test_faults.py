"""An endpoint that fails in every way.

No decision is lost or stored twice, and every request has its row.
"""

import pytest

from gate.models import GateHour
from gate.runner import config
from people.configuration import setting_values as configuration
from tests.llm_endpoint import (
    cut_off,
    fails,
    hangs,
    nothing_listens,
    redirects,
    says,
    too_large,
)

from .judged_turns import DB, answer, calls, create_turns, decides, decisions, outcomes, run

pytestmark = pytest.mark.django_db
# Behaviours of the endpoint and the failures in the rows of calls. Every failure: tests/openclaw_web/llm/test_ask.py.
PASSING = {
    "rate limited": (fails(429, retry_after=1), "rate_limited"),
    "cut mid-body": (cut_off(answer()), "cut_off"),
    "slow": (hangs(), "timed_out"),
    "2 MB": (too_large(), "too_large"),
}
FINAL = {
    "wrong key": (fails(401), "http_error"),
    "elsewhere": (redirects("http://127.0.0.1:9/v1"), "redirected"),
}
# Every malformed answer: test_answer_parsing.py.
MALFORMED = {
    "prose": ("I think that nothing has to be kept.", "not_an_object"),
    "missing fact": (answer(fact=None), "missing_candidate_fact"),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_is_asked_again(ada, endpoint, name, monkeypatch):
    if name == "slow":
        monkeypatch.setattr(config, "SECONDS", 0.2)
    behaviour, failure = PASSING[name]
    endpoint.then(behaviour, decides())
    create_turns(2)
    assert run(ada).message == "2 turns judged."
    assert outcomes() == ["failed", "decided", "decided"]
    first, second, _third = calls()
    assert (first.failure, first.attempt, second.attempt, first.turn_id) == (failure, 1, 2, second.turn_id)
    assert first.reason.endswith(".")
    assert first.llm_latency_ms is not None
    assert (len(endpoint.requests), decisions().count()) == (3, 2)


@pytest.mark.parametrize("name", FINAL)
def test_what_cannot_pass_is_asked_once_for_each_of_three_turns(ada, endpoint, name):
    behaviour, failure = FINAL[name]
    endpoint.then(behaviour)
    create_turns(5)
    job = run(ada)
    assert job.state == "refused"
    assert job.message.startswith("0 turns judged. 3 turns were not answered. Stopped after 3 turns in a row")
    assert [(call.failure, call.attempt) for call in calls()] == [(failure, 1)] * 3
    assert not decisions()
    endpoint.then(decides())
    assert run(ada).message == "5 turns judged."  # nothing was lost


def test_one_turn_that_is_refused_does_not_end_a_run(ada, endpoint):
    endpoint.then(decides(), fails(400), fails(400), decides(), fails(400), decides())
    create_turns(6)
    job = run(ada)
    assert (job.state, decisions().count()) == ("finished", 3)
    assert job.message.startswith("3 turns judged. 3 turns were not answered.")


def test_an_endpoint_that_is_down_ends_a_run(ada, endpoint, settings):
    create_turns(5)
    with nothing_listens() as settings.LLM_API_URL:
        job = run(ada)
    assert (job.state, outcomes()) == ("refused", ["failed"] * 9)
    assert "Nothing answers at" in job.message
    assert {call.failure for call in calls()} == {"unreachable"}
    settings.LLM_API_URL = endpoint.url
    run(ada)
    assert decisions().count() == 5


@pytest.mark.parametrize("name", MALFORMED)
def test_an_answer_that_is_no_decision_is_a_failed_call(ada, endpoint, name):
    text, failure = MALFORMED[name]
    endpoint.then(says(text, prompt_tokens=500, completion_tokens=20), decides())
    create_turns(2)
    job = run(ada)
    assert (job.state, job.message) == ("finished", "1 turn judged. 1 answer was no decision.")
    first, second = calls()
    assert (first.outcome, first.failure, first.raw_response) == ("malformed", failure, text)
    assert (first.prompt_tokens, first.reserved_tokens, second.outcome) == (500, 520, "decided")
    assert len(endpoint.requests) == 2  # an endpoint would repeat its answer, so that only another run asks again
    assert run(ada).message == "1 turn judged."


def test_failed_calls_count_with_what_they_cost(ada, endpoint):
    configuration.put("llm.prices", ["small: 1 10"])
    endpoint.then(cut_off(answer()), fails(429), says("no decision", prompt_tokens=500, completion_tokens=20))
    create_turns(1)
    run(ada)
    cut, limited, malformed = calls()
    assert cut.reserved_tokens > 2_000  # nobody knows what it used
    assert cut.cost_usd == pytest.approx(((cut.reserved_tokens - 2_000) * 1 + 2_000 * 10) / 1e6)
    assert (limited.reserved_tokens, limited.cost_usd) == (0, None)  # the model said nothing
    assert malformed.cost_usd == pytest.approx((500 * 1 + 20 * 10) / 1e6)
    hours = GateHour.objects.using(DB).values_list("failed_count", "malformed_count", "cost_count")
    assert list(hours) == [(2, 1, 2)]


def test_the_key_is_nowhere_in_what_is_stored(ada, endpoint):
    endpoint.then(fails(401, body=b'{"error": "sk-test is not a key"}'))
    create_turns(1)
    run(ada)
    assert calls().get().raw_response == '{"error": "… is not a key"}'
