"""Status of our own gate of an agent, for its page and the API."""

from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from agents.runners import switches
from agents.runners.status import RunnerStatus, read_runner_status
from agents.runners.switches import Switch
from ledger.transcripts.turns import utc_day
from openclaw_web import clock

from ..models import GatePrompt
from . import call_totals, config
from .config import RUNNER


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStatus(RunnerStatus):
    """The status of a runner, the switch, and the outcomes of this UTC day's calls."""

    switched: Switch | None
    day: str  # today in UTC, as it is written in addresses
    today: dict[str, Any]
    is_prompt_kept: bool  # stored with a call of this agent, so that the prompt has a page


def read_gate_status(agent: Agent) -> GateStatus:
    """Return the status of an agent's gate now."""
    gate, today = config.get_configured_gate(), call_totals.sum_todays_calls(agent.db)
    return GateStatus(
        **read_runner_status(RUNNER, agent, gate, RUNNER.problem_of()) | {"tokens_today": today["tokens"]},
        cost_today=today["cost_usd"],
        switched=switches.read_agent_switches(RUNNER, agent.agent_id).get(""),
        day=utc_day(clock.now_ms()),
        today=today,
        is_prompt_kept=GatePrompt.objects.using(agent.db).filter(id=gate.prompt.version).exists(),
    )
