"""Runs of our own gate as jobs: plans, permissions, cancelling, and continuing."""

import orjson
import pytest

from agents.runners.choice import NoSuchSession
from gate.models import GateCall
from gate.runner import plans
from gate.runner.turn_selection import TurnChoice
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import CancelledJob
from openclaw_web import clock
from people.configuration import setting_values as configuration
from tests.llm_endpoint import fails, says

from .judged_turns import DB, answer, create_turns, decides, decisions, outcomes, run

pytestmark = pytest.mark.django_db


def test_a_plan_says_what_would_be_sent(ada, endpoint, settings):
    create_turns(3)
    configuration.put("llm.prices", ["small: 1 10"])
    plan = plans.plan_run(ada, TurnChoice())
    assert (plan.turns, plan.withheld, plan.host) == (3, 0, endpoint.url.split("/")[2])
    assert (plan.model, plan.problem, plan.left_today, plan.is_beyond_limit) == ("small", "", 500_000, False)
    assert 3 * 600 < plan.tokens < 3 * 1_500
    assert plan.cost_usd == pytest.approx(((plan.tokens - 450) * 1 + 450 * 10) / 1e6)
    assert not endpoint.requests
    configuration.put("llm.prices", [])
    configuration.put("memoryGate.tokensPerDay", 1_000)
    plan = plans.plan_run(ada, TurnChoice(limit=2))
    assert (plan.turns, plan.cost_usd, plan.is_beyond_limit) == (2, None, True)


def test_an_estimate_of_many_turns_comes_from_some_of_them(ada, endpoint, django_assert_max_num_queries):
    create_turns(120)
    with django_assert_max_num_queries(90, using=DB):
        plan = plans.plan_run(ada, TurnChoice())
    each = plans.plan_run(ada, TurnChoice(limit=1)).tokens
    assert plan.turns == 120
    assert 100 * each < plan.tokens < 125 * each


def test_a_session_that_there_is_not_is_refused(ada, endpoint):
    with pytest.raises(NoSuchSession):
        plans.plan_run(ada, TurnChoice(session="nobody"))
    assert run(ada, session="nobody").state == "refused"


def test_a_run_that_is_cancelled_keeps_what_it_has(ada, endpoint):
    create_turns(4)

    def cancels(done, _total, _message):
        if done == 2:
            jobs.cancel(JobRun.objects.get(), by="otto")
            raise CancelledJob  # the heartbeat would have it raised: in a transaction it has no thread of its own

    job = run(ada, cancels)
    assert (job.state, decisions().count()) == ("cancelled", 2)
    assert run(ada).message == "2 turns judged."


def test_an_interrupted_run_goes_on_with_the_same_turns(ada, endpoint):
    create_turns(6)
    params = {"agent": "ada", "limit": 4, "before_at": clock.now_ms()}
    endpoint.then(says("no decision"), decides())
    first = jobs.run_now("gate", params, by="root")
    assert first.message == "3 turns judged. 1 answer was no decision."
    again = jobs.run_now("gate", params, by="root")  # as a worker does with a job whose process died
    assert again.message == first.message
    assert (again.done, again.total, len(endpoint.requests)) == (4, 4, 4)
    assert [row.turn_id for row in decisions()] == ["s1:u3", "s1:u4", "s1:u5"]


def test_a_call_that_was_killed_is_sent_again_and_both_have_a_row(ada, endpoint):
    create_turns(1)

    def dies(_handler):
        raise ConnectionAbortedError

    endpoint.then(dies, fails(500), decides())
    killed = GateCall.objects.using(DB).create(
        id="killed", session_id="s1", turn_id="s1:u0", origin="own", outcome="sent", llm_model="small",
        reserved_tokens=2_500, cost_usd=0.02, created_at=clock.now_ms(),
    )  # fmt: skip
    run(ada)
    assert sorted(outcomes()) == ["decided", "failed", "failed", "sent"]
    killed.refresh_from_db()
    assert (killed.reserved_tokens, killed.cost_usd) == (2_500, 0.02)
    assert decisions().count() == 1


def test_what_a_run_says_of_its_calls(ada, endpoint):
    endpoint.then(fails(500), says(answer(), prompt_tokens=10, completion_tokens=5, cost=0.5))
    create_turns(2)
    result = orjson.loads(run(ada).result_json)
    assert {name: result[name] for name in ("turns", "left", "decided", "failed", "malformed", "sent")} == {
        "turns": 2, "left": 0, "decided": 2, "failed": 1, "malformed": 0, "sent": 0,
    }  # fmt: skip
    assert (result["tokens"], result["cost_usd"]) == (30, 1.0)
