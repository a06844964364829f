"""How our own gate of an agent stands: what its page and the API tell."""

from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from agents.models import Agent
from agents.runners import launch, switches
from agents.runners.switches import Switched
from jobs.models import JobRun
from ledger.transcripts.turns import utc_day
from openclaw_web import clock

from ..models import GatePrompt
from . import gates, tallies
from .gates import RUNNER, Gate


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
        problem=RUNNER.problem_of(),
        switched=switches.of_agent(RUNNER, agent.agent_id).get(""),
        day=utc_day(clock.now_ms()),
        today=tallies.of_today(agent.db),
        limit=RUNNER.allowance.limit,
        left=RUNNER.allowance.left(agent.db),
        runs=launch.latest(RUNNER, agent),
        is_prompt_kept=GatePrompt.objects.using(agent.db).filter(id=gate.prompt.version).exists(),
    )


def address(agent: Agent) -> str:
    """Where its page is."""
    return reverse("gate:own_gate", args=[agent.agent_id])
