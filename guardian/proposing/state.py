"""How our own guardian of an agent stands: what its page and the API tell."""

from dataclasses import dataclass

import orjson
from django.urls import reverse

from agents.models import Agent
from jobs import services as jobs
from jobs.kinds import DAY_MS
from jobs.models import JobRun
from openclaw_web import clock
from people.configuration import keys as configuration

from ..models import GuardianRun
from . import plans, running, switch, unattended, waiting
from .asking import guardians, prompts, steps
from .asking.guardians import Guardian
from .switch import Switched

RUNS = 10


@dataclass(frozen=True, slots=True)
class State:
    """The guardian in force, why nothing may be sent (empty: something may), and what became of facts this UTC day.

    `switches` holds each file that may be written unattended, with who turned that on, or None. `proposed` is how many
    proposals wait, whenever they were made.
    """

    guardian: Guardian
    prompt_version: str
    problem: str
    switches: dict[str, Switched | None]
    limits: dict[str, int]
    proposed: int
    written_today: int
    refused_today: int
    tokens_today: int
    cost_today: float | None
    limit: int
    left: int | None
    runs: list[JobRun]


def of(agent: Agent) -> State:
    """How it stands now."""
    on, used = switch.of_agent(agent.agent_id), steps.used(agent.db)
    limit = configuration.get(steps.SETTING)
    today = _today(agent.db)
    return State(
        guardian=guardians.as_set(),
        prompt_version=prompts.VERSION,
        problem=plans.problem_of(agent),
        switches={name: on.get(name) for name in switch.FILES},
        limits=unattended.limits(),
        proposed=waiting.of(agent.db),
        written_today=today.count(GuardianRun.State.WRITTEN),
        refused_today=today.count(GuardianRun.State.REFUSED),
        tokens_today=used,
        cost_today=steps.cost_today(agent.db),
        limit=limit,
        left=max(0, limit - used) if limit else None,
        runs=_runs(agent.agent_id),
    )


def address(agent: Agent) -> str:
    """Where its page is."""
    return reverse("guardian:own_guardian", args=[agent.agent_id])


def _today(db):
    now = clock.now_ms()
    return list(
        GuardianRun.objects.using(db).filter(created_at__gte=now - now % DAY_MS).values_list("state", flat=True)
    )


def _runs(agent_id):
    """The latest runs of an agent: the newest of all agents are looked through, those of the switch are of all."""
    found = [job for job in jobs.latest([running.KIND], 100) if orjson.loads(job.params_json)["agent"] == agent_id]
    return found[:RUNS]
