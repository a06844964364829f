"""The job that calculates the sums of many decisions, started when they are needed."""

import pytest

from agents import services as agents
from gate.models import GateHour, MemoryGateDecision
from gate.recording import decision_store
from gate.statistics import sums
from jobs import kinds
from jobs import services as jobs
from jobs.models import JobRun
from openclaw_web import clock
from people.configuration import setting_values as configuration
from tests.factories import T0, DecisionFactory

from .statistics_rows import make_failed_call

pytestmark = pytest.mark.django_db
SETTING = "memoryGateAuditing.enableStats"


@pytest.fixture
def main(real_files, monkeypatch):
    """An agent with more decisions than are counted at once, whose sums were off."""
    agent = agents.register("main")
    monkeypatch.setattr(sums, "SMALL", 10)
    monkeypatch.setattr(sums, "STEP", 10)
    for number in range(40):
        DecisionFactory(db=agent.db, session_id=f"s{number % 7}", created_at=T0 + number * 3_600_000)
    configuration.put(SETTING, False)
    decision_store.store_calls(agent.db, [make_failed_call()])
    configuration.put(SETTING, True)
    return agent.db


def runs():
    return list(JobRun.objects.filter(kind=sums.JOB_KIND).order_by("created_at", "id"))


def test_whoever_looks_starts_it_once_and_it_makes_all(main):
    assert not sums.ensure_complete(main)
    assert not sums.ensure_complete(main)
    (job,) = runs()
    assert job.started_by == kinds.BY_SCHEDULE
    done = jobs.run_now(sums.JOB_KIND, {"agent": "main"}, by="root")
    assert (done.id, done.state, done.message) == (job.id, "finished", "Statistics of 40 decisions calculated.")
    assert sums.ensure_complete(main)
    assert sum(GateHour.objects.using(main).values_list("total", flat=True)) == 40


def test_a_write_starts_it_too_and_is_not_counted_twice(main):
    decision_store.store_calls(main, [make_failed_call("malformed")])
    assert len(runs()) == 1
    jobs.run_now(sums.JOB_KIND, {"agent": "main"}, by="root")
    assert sum(GateHour.objects.using(main).values_list("malformed_count", flat=True)) == 1


def test_one_that_failed_is_tried_again_later(main, later):
    sums.ensure_complete(main)
    now = clock.now_ms()
    JobRun.objects.filter(kind=sums.JOB_KIND).update(state="failed", finished_at=now)
    sums.ensure_complete(main)
    assert len(runs()) == 1
    later(hours=0.2)
    sums.ensure_complete(main)
    assert len(runs()) == 2


def test_a_run_that_was_broken_off_goes_on(main):
    sums.run_step(main)
    jobs.run_now(sums.JOB_KIND, {"agent": "main"}, by="root")
    assert sums.is_complete(main)


def test_without_statistics_or_agent_it_does_nothing(main):
    assert jobs.run_now(sums.JOB_KIND, {"agent": "nobody"}, by="root").state == "refused"
    configuration.put(SETTING, False)
    job = jobs.run_now(sums.JOB_KIND, {"agent": "main"}, by="root")
    assert (job.state, job.message) == ("finished", "Statistics of decisions are turned off in the settings.")
    assert MemoryGateDecision.objects.using(main).count() == 40
