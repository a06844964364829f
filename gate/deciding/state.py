"""How our own gate of an agent stands: what its page and the API tell."""

from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from agents.runners import switches
from agents.runners.standing import Standing, standing
from agents.runners.switches import Switched
from ledger.transcripts.turns import utc_day
from openclaw_web import clock

from ..models import GatePrompt
from . import gates, tallies
from .gates import RUNNER


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Standing):
    """The switch, and how the calls of this UTC day ended."""

    switched: Switched | None
    day: str  # today in UTC, as addresses have it
    today: dict[str, Any]
    is_prompt_kept: bool  # with a call of this agent, so that there is a page of it


def of(agent: Agent) -> State:
    """How it stands now."""
    gate, today = gates.as_set(), tallies.of_today(agent.db)
    return State(
        **standing(RUNNER, agent, gate, RUNNER.problem_of()) | {"tokens_today": today["tokens"]},
        cost_today=today["cost_usd"],
        switched=switches.of_agent(RUNNER, agent.agent_id).get(""),
        day=utc_day(clock.now_ms()),
        today=today,
        is_prompt_kept=GatePrompt.objects.using(agent.db).filter(id=gate.prompt.version).exists(),
    )
