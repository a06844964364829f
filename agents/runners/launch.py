"""Runs as they begin: queued or in this process, one of an agent at a time."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from django.db import transaction

from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Listener
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from people.audit import log as audit

from ..models import Agent
from .runner import Runner

LATEST = 10
LOOKED_THROUGH = 100  # runs of all agents


@contextmanager
def exclusive_start(runner: Runner, agent: Agent) -> Iterator[None]:
    """A transaction in which a run may be queued. Raises Refused while one of this agent is queued or running."""
    jobs.recover()  # a run whose process is gone holds up no other
    with transaction.atomic():
        check_no_active_job(runner, agent)
        yield


def check_no_active_job(runner: Runner, agent: Agent) -> None:
    """Raises Refused while a run of this agent is queued or running."""
    for job in find_active_jobs(runner, agent):
        raise Refused(_is_running(runner, agent.agent_id), reasons=[{"id": job.id, "reason": job.message}])


def find_active_jobs(runner: Runner, agent: Agent) -> list[JobRun]:
    """The jobs of an agent that are queued or running, the oldest first."""
    states = (JobRun.State.QUEUED, JobRun.State.RUNNING)
    rows = JobRun.objects.filter(kind=runner.kind, state__in=states).defer("log").order_by("created_at", "id")
    return [job for job in rows if job.params.get("agent") == agent.agent_id]


def run_here(
    runner: Runner, agent: Agent, params: dict[str, Any], *, by: str, listener: Listener | None = None
) -> JobRun:
    """Run in this process; the job, however it ended."""
    names = {"object_id": agent.agent_id, "agent_id": agent.agent_id}
    audit.record(by, f"{runner.kind}_started", object_type="agent", **names)  # a job that nobody queued has no entry
    return jobs.run_now(runner.kind, params, by=by, listener=listener)


def exclusive_run(runner: Runner, agent_id: str) -> AbstractContextManager[None]:
    """Hold off other runs of an agent. Raises Refused while there is one."""
    return locks.exclusive_lock(runner.lock_name(agent_id), _is_running(runner, agent_id))


def find_latest_jobs(runner: Runner, agent: Agent) -> list[JobRun]:
    """The newest runs of an agent, out of the newest of all agents; those of the switch are of all and not here."""
    runs = jobs.find_latest([runner.kind], LOOKED_THROUGH)
    return [job for job in runs if job.params.get("agent") == agent.agent_id][:LATEST]


def _is_running(runner, agent_id):
    return str(runner.is_running) % {"agent": agent_id}
