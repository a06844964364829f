"""What a replay would send, where to, and about what it would cost; nothing is sent for it."""

from dataclasses import dataclass

from agents.models import Agent
from agents.runners.runner import build_estimate
from openclaw_web.llm.estimates import Estimate

from ..recording import windows
from ..runner.plans import MEASURED_WINDOWS, USUAL_ANSWER
from . import decision_selection
from .decision_selection import DecisionSelection
from .replay_launch import RUNNER
from .replay_request import ReplayRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Estimate):
    """What would be sent of how many decisions; `skipped` are those without a stored window."""

    decisions: int
    skipped: int


def plan_replay(agent: Agent, wanted: ReplayRequest) -> Plan:
    """What replaying these decisions of an agent would mean."""
    gate, chosen = wanted.gate, decision_selection.select_decisions(agent, wanted)
    prompt_tokens, answers = _tokens(agent.db, gate, chosen), len(chosen.rows) * USUAL_ANSWER
    return Plan(
        decisions=len(chosen.rows),
        skipped=chosen.skipped,
        withheld=chosen.withheld,
        **build_estimate(RUNNER, agent, gate, prompt_tokens, answers, RUNNER.problem_of(gate.model)),
    )


def _tokens(db, gate, chosen: DecisionSelection):
    """About how many tokens asking about all of them has, from some that are spread evenly."""
    count = len(chosen.rows)
    some = chosen.rows[:: -(-count // MEASURED_WINDOWS) or 1]
    found = [gate.prompt_tokens(window) for row in some if (window := windows.read_window(db, row.window_hash))]
    return round(sum(found) / len(found) * count) if found else 0
