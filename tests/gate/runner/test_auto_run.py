"""New turns of agents whose gate is on are judged by a job, not for ever."""

import pytest

from agents.runners import switches
from gate.runner import config
from gate.runner.config import RUNNER
from jobs import automatic_tasks
from jobs import services as jobs
from jobs.models import JobRun
from openclaw_web import clock
from people.configuration import setting_values as configuration
from tests import factories
from tests.llm_endpoint import fails, says

from .judged_turns import DB, MINUTE, calls, create_turns, decides, decisions, outcomes

pytestmark = pytest.mark.django_db


@pytest.fixture
def on(ada, endpoint, later):
    """The endpoint of ada, whose gate has been on for an hour.

    Two of its turns are older than that, two are newer.
    """
    later(hours=-1)
    switches.turn_on(RUNNER, ada, by="root")
    later()
    create_turns(2, start=clock.now_ms() - 90 * MINUTE)
    create_turns(2, session_id="s2", start=clock.now_ms() - 30 * MINUTE)
    return endpoint


def tick():
    """Runs the job that the worker would start now; returns None when it starts none."""
    started = [job for job in automatic_tasks.start_due() if job.kind == "gate_new_turns"]
    return jobs.run_now("gate_new_turns", {}, by="schedule") if started else None


def test_only_turns_after_the_switch_are_judged(on):
    assert tick().message == "Judged: 2 turns."
    assert [row.turn_id for row in decisions()] == ["s2:u0", "s2:u1"]
    assert tick() is None


@pytest.mark.parametrize("key", ["memoryGate.enabled", "memoryGateAuditing.enabled"])
def test_settings_switch_it_off(on, key):
    configuration.put(key, False)
    assert tick() is None
    assert not on.requests


def test_it_is_off_for_every_agent_at_first(ada, endpoint):
    create_turns(2, start=clock.now_ms() - 30 * MINUTE)
    assert tick() is None


def test_without_an_endpoint_nothing_is_started(on, settings):
    settings.LLM_API_URL = ""
    assert tick() is None


def test_switched_off_during_a_run_it_ends_after_the_turn_it_is_at(on, ada):
    def off(done, _total, _message):
        if done == 1:
            switches.turn_off(RUNNER, ada, by="root")

    jobs.run_now("gate_new_turns", {}, by="schedule", listener=off)
    assert decisions().count() == 1


def test_after_a_failure_it_pauses(on, later):
    on.then(fails(500))
    assert tick().state == "refused"
    assert outcomes() == ["failed"] * 3  # one turn, three times
    on.then(decides())
    assert tick() is None
    later(seconds=16 * 60)
    assert tick().state == "finished"
    assert [row.turn_id for row in decisions()] == ["s2:u1"]  # the other turn was asked about often enough


def test_a_turn_that_is_answered_wrongly_is_not_asked_about_for_ever(on, later):
    on.then(says("no decision"))
    for minutes in range(1, 6):
        later(seconds=60 * minutes)
        tick()
    assert outcomes() == ["malformed"] * 6
    assert JobRun.objects.filter(kind="gate_new_turns").count() == 3


def test_old_turns_are_left_to_runs_by_hand(on, later):
    later(hours=24 * 8)
    assert tick() is None


def test_nothing_is_started_when_the_limit_is_reached(on, later):
    noon = 36 - clock.now_ms() / 3_600_000 % 24  # hours until then: the limit is that of a day, which must not end here
    later(hours=noon)
    configuration.put("memoryGate.tokensPerDay", config.get_active_gate().least_tokens + 500)
    assert tick().message.startswith("Judged: 1 turn. The limit of")
    assert RUNNER.allowance.remaining_tokens(DB) < config.get_active_gate().least_tokens
    later(hours=noon, seconds=20 * 60)
    assert tick() is None
    later(hours=noon + 24)
    assert tick().state == "finished"
    assert decisions().count() == 2


def test_an_agent_without_a_file_is_passed_over(on):
    switches.turn_on(RUNNER, factories.AgentFactory(agent_id="lost"), by="root")
    assert tick().state == "finished"
    assert calls().count() == 2
