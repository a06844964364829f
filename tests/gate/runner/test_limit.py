"""The limit of tokens a day, which is never exceeded.

Tokens are taken before anything is sent, and given back when less was used.
"""

import pytest

from gate.models import GateCall
from gate.runner import config
from openclaw_web import clock
from people.configuration import setting_values as configuration
from tests.llm_endpoint import fails

from .judged_turns import DB, MINUTE, USED, create_turns, decisions, outcomes, run

pytestmark = pytest.mark.django_db


@pytest.fixture
def one_call(endpoint):
    """The approximate number of tokens that one call takes."""
    return config.get_active_gate().least_tokens + 200


def test_a_run_ends_before_the_call_that_would_be_too_much(ada, endpoint, one_call):
    configuration.put("memoryGate.tokensPerDay", one_call + 3 * sum(USED.values()))
    create_turns(6)
    job = run(ada)
    assert 3 <= decisions().count() < 6
    assert (job.state, job.message.startswith(f"{decisions().count()} turns judged. The limit of")) == (
        "finished",
        True,
    )
    assert len(endpoint.requests) == decisions().count()
    assert config.RUNNER.allowance.used_tokens(DB) == decisions().count() * sum(USED.values())


def test_tomorrow_the_rest_is_judged(ada, endpoint, one_call, later):
    later()
    configuration.put("memoryGate.tokensPerDay", one_call)
    create_turns(3)
    run(ada)
    assert decisions().count() == 1
    assert config.RUNNER.allowance.remaining_tokens(DB) < one_call
    later(hours=24)
    assert config.RUNNER.allowance.remaining_tokens(DB) == one_call
    run(ada)
    assert decisions().count() == 2


def test_without_a_limit_there_is_none(ada, endpoint):
    configuration.put("memoryGate.tokensPerDay", 0)
    create_turns(2)
    assert config.RUNNER.allowance.remaining_tokens(DB) is None
    run(ada)
    assert decisions().count() == 2


def test_what_an_endpoint_refused_is_given_back(ada, endpoint):
    endpoint.then(fails(503))
    create_turns(1)
    run(ada)
    assert (outcomes(), config.RUNNER.allowance.used_tokens(DB)) == (["failed"] * 3, 0)


def test_a_call_that_nobody_heard_of_again_keeps_what_was_taken(ada, endpoint, one_call):
    GateCall.objects.using(DB).create(
        id="killed", session_id="s1", turn_id="s1:u0", origin="own", outcome="sent", reserved_tokens=one_call,
        created_at=clock.now_ms() - MINUTE // 60,
    )  # fmt: skip
    configuration.put("memoryGate.tokensPerDay", one_call)
    create_turns(1)
    assert run(ada).state == "refused"
    assert outcomes() == ["sent"]
