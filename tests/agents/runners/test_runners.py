"""Every runner sends nothing without permission, and runs once at a time."""

import html
from collections.abc import Callable
from dataclasses import dataclass

import orjson
import pytest

from agents.models import Agent
from agents.runners import launch
from agents.runners.runner import Runner
from gate.replays import plans as replay_plans
from gate.replays import replay_launch
from gate.replays.replay_request import ReplayRequest
from gate.runner import config, turn_selection
from gate.runner import job as gate_runs
from gate.runner import plans as gate_plans
from guardian.runner import fact_selection
from guardian.runner import job as guardian_runs
from guardian.runner import plans as guardian_plans
from guardian.runner.llm import config as guardians
from jobs import kinds
from jobs import services as jobs
from jobs.models import JobRun
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.llm.estimates import Estimate
from people.configuration import setting_values as configuration
from people.models import AuditEntry
from tests.gate.replays import replay_rows
from tests.gate.runner.judged_turns import create_turns
from tests.guardian.runner.proposal_rows import create_decision

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("workspace")]


@dataclass(frozen=True)
class Case:
    runner: Runner
    make: Callable[[int], object]  # creates this many things to ask about
    start: Callable[[Agent], JobRun]
    run_here: Callable[[Agent], JobRun]
    plan: Callable[[Agent], Estimate]


CASES = {
    "gate": Case(
        config.RUNNER,
        create_turns,
        lambda agent: gate_runs.start_run(agent, turn_selection.TurnChoice(), by="otto"),
        lambda agent: gate_runs.run_here(agent, turn_selection.TurnChoice(), by="root"),
        lambda agent: gate_plans.plan_run(agent, turn_selection.TurnChoice()),
    ),
    "gate_replay": Case(
        replay_launch.RUNNER,
        replay_rows.create_decisions,
        lambda agent: replay_launch.start_replay(agent, ReplayRequest("other"), by="otto")[1],
        lambda agent: replay_launch.run_here(agent, ReplayRequest("other"), by="root")[1],
        lambda agent: replay_plans.plan_replay(agent, ReplayRequest("other")),
    ),
    "guardian": Case(
        guardians.RUNNER,
        lambda count: [create_decision(number) for number in range(count)],
        lambda agent: guardian_runs.start_run(agent, fact_selection.FactChoice(), by="otto"),
        lambda agent: guardian_runs.run_here(agent, fact_selection.FactChoice().to_params(agent), by="root"),
        lambda agent: guardian_plans.plan_run(agent, fact_selection.FactChoice()),
    ),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


MISSING = {
    "the endpoint": ("OPENCLAW_WEB_LLM_URL", lambda settings, _runner: setattr(settings, "LLM_API_URL", "")),
    "its address": ("begins with https://", lambda settings, _runner: setattr(settings, "LLM_API_URL", "ftp://x")),
    "another machine": ("unencrypted", lambda settings, _runner: setattr(settings, "LLM_API_URL", "http://x.com/v1")),
    "the model": ("llm.model is empty", lambda _settings, _runner: configuration.put("llm.model", "")),
    "the switch": ("{runner.enabled} is off", lambda _settings, runner: configuration.put(runner.enabled, False)),
    "keeping": (
        "{runner.recording_setting} is off",
        lambda _settings, runner: configuration.put(runner.recording_setting, False),
    ),
}
# A replay names its own model.
PAIRS = [(name, missing) for name in CASES for missing in MISSING if (name, missing) != ("gate_replay", "the model")]


@pytest.mark.parametrize(("case", "missing"), PAIRS, indirect=["case"])
def test_nothing_is_sent_while_something_is_missing(ada, endpoint, settings, case, missing):
    words, turn_off = MISSING[missing]
    case.make(1)
    job, words = case.start(ada), words.format(runner=case.runner)
    turn_off(settings, case.runner)
    ended = jobs.run_now(job.kind, orjson.loads(job.params_json), by="otto")
    assert (ended.state, words in ended.message) == ("refused", True)
    for begin in (case.start, case.run_here):
        with pytest.raises(Refused) as refused:
            begin(ada)
        assert words in refused.value.sentence
    assert words in case.plan(ada).problem
    assert not endpoint.requests


def test_of_two_runs_of_an_agent_one_waits(ada, bob, endpoint, case):
    case.make(1)
    job = case.start(ada)
    with pytest.raises(Refused, match=r"running\. Wait until") as refused:
        case.start(ada)
    assert refused.value.reasons[0]["id"] == job.id
    launch.check_no_active_job(case.runner, bob)  # a run of another agent may start
    with locks.lock(case.runner.lock_name("ada")):
        ended = jobs.run_now(job.kind, orjson.loads(job.params_json), by="otto")
    assert (ended.state, "running. Wait until" in ended.message) == ("refused", True)
    assert not endpoint.requests


def test_nothing_is_sent_when_nothing_is_left(ada, endpoint, case):
    case.make(1)
    configuration.put(case.runner.allowance.setting, 100)
    job = case.run_here(ada)
    assert (job.state, "The limit of 100 tokens a day is reached" in job.message) == ("refused", True)
    assert not endpoint.requests


def test_three_in_a_row_without_an_answer_end_a_run(ada, endpoint, case):
    case.make(5)
    job = case.run_here(ada)
    assert (job.state, "Stopped after 3 " in job.message, len(endpoint.requests)) == ("refused", True, 3)


def test_a_run_is_in_the_audit_log_as_its_job(ada, endpoint, case, as_admin):
    case.make(1)
    jobs.cancel(case.start(ada), by="otto")
    case.run_here(ada)
    entries = AuditEntry.objects.filter(action=f"{case.runner.kind}_started").order_by("id")
    assert [(entry.actor, entry.object_type) for entry in entries] == [("otto", "job"), ("root", "agent")]
    assert str(kinds.get_kind(case.runner.kind).audit_text) in html.unescape(as_admin.get("/operations/audit/").text)


def test_an_agent_that_there_is_not_is_refused(endpoint, case):
    params = {"agent": "nobody", "replay": "x", "before_at": 0}
    assert jobs.run_now(case.runner.kind, params, by="root").state == "refused"
