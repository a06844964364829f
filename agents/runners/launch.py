"""Starts runs, queued or in this process, one for an agent at a time."""

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
MAX_SEARCHED = 100  # runs of all agents that are searched


@contextmanager
def exclusive_start(runner: Runner, agent: Agent) -> Iterator[None]:
    """Opens a transaction in which a run may be queued.

    Raises Refused while a run of this agent is queued or running.
    """
    jobs.recover()  # a run whose process has ended must not block another one
    with transaction.atomic():
        check_no_active_job(runner, agent)
        yield


def check_no_active_job(runner: Runner, agent: Agent) -> None:
    """Raises Refused while a run of this agent is queued or running."""
    for job in find_active_jobs(runner, agent):
        raise Refused(_describe_running(runner, agent.agent_id), reasons=[{"id": job.id, "reason": job.message}])


def find_active_jobs(runner: Runner, agent: Agent) -> list[JobRun]:
    """Returns the queued and running jobs of an agent, the oldest first."""
    states = (JobRun.State.QUEUED, JobRun.State.RUNNING)
    rows = JobRun.objects.filter(kind=runner.kind, state__in=states).defer("log").order_by("created_at", "id")
    return [job for job in rows if job.params.get("agent") == agent.agent_id]


def run_here(
    runner: Runner, agent: Agent, params: dict[str, Any], *, by: str, listener: Listener | None = None
) -> JobRun:
    """Runs in this process and returns the job, however it ended."""
    names = {"object_id": agent.agent_id, "agent_id": agent.agent_id}
    audit.record(
        by, f"{runner.kind}_started", object_type="agent", **names
    )  # only queued jobs get an audit entry by themselves
    return jobs.run_now(runner.kind, params, by=by, listener=listener)


def exclusive_run(runner: Runner, agent_id: str) -> AbstractContextManager[None]:
    """Locks out other runs of an agent. Raises Refused while there is one."""
    return locks.exclusive_lock(runner.lock_name(agent_id), _describe_running(runner, agent_id))


def find_latest_jobs(runner: Runner, agent: Agent) -> list[JobRun]:
    """Returns the newest runs of an agent, out of the newest of all agents.

    Scheduled runs of the switch are about all agents, and not included.
    """
    runs = jobs.find_latest([runner.kind], MAX_SEARCHED)
    return [job for job in runs if job.params.get("agent") == agent.agent_id][:LATEST]


def _describe_running(runner, agent_id):
    return str(runner.is_running) % {"agent": agent_id}
