"""How our own gate of an agent stands: what its page and the API tell."""

from dataclasses import dataclass
from typing import Any

import orjson
from django.urls import reverse

from agents.models import Agent
from jobs import services as jobs
from jobs.models import JobRun
from ledger.transcripts.turns import utc_day
from openclaw_web import clock
from people.configuration import keys as configuration

from ..models import GatePrompt
from . import allowance, gates, running, switch, tallies
from .gates import Gate
from .switch import Switched

RUNS = 10


@dataclass(frozen=True, slots=True)
class State:
    """The gate in force, why nothing may be sent (empty: something may), the switch, and the calls of this UTC day."""

    gate: Gate
    problem: str
    switched: Switched | None
    day: str  # today in UTC, as addresses have it
    today: dict[str, Any]
    limit: int
    left: int | None
    runs: list[JobRun]
    is_prompt_kept: bool  # with a call of this agent, so that there is a page of it


def of(agent: Agent) -> State:
    """How it stands now."""
    gate = gates.as_set()
    return State(
        gate=gate,
        problem=gates.problem_of(),
        switched=switch.of(agent.agent_id),
        day=utc_day(clock.now_ms()),
        today=tallies.of_today(agent.db),
        limit=configuration.get(allowance.SETTING),
        left=allowance.left(agent.db),
        runs=_runs(agent.agent_id),
        is_prompt_kept=GatePrompt.objects.using(agent.db).filter(id=gate.prompt.version).exists(),
    )


def address(agent: Agent) -> str:
    """Where its page is."""
    return reverse("gate:own_gate", args=[agent.agent_id])


def _runs(agent_id):
    """The latest runs of an agent: the newest of all agents are looked through, those of the switch are of all."""
    found = [job for job in jobs.latest([running.KIND], 100) if orjson.loads(job.params_json)["agent"] == agent_id]
    return found[:RUNS]
