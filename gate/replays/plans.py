"""Plans a replay: decisions, endpoint, and estimated tokens and cost.

Nothing is sent for a plan.
"""

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
    """The estimate of a replay and its number of decisions.

    `skipped` are decisions without a stored window.
    """

    decisions: int
    skipped: int


def plan_replay(agent: Agent, request: ReplayRequest) -> Plan:
    """Estimate a replay of these decisions."""
    gate, selection = request.gate, decision_selection.select_decisions(agent, request)
    prompt_tokens, answers = _estimate_tokens(agent.db, gate, selection), len(selection.rows) * USUAL_ANSWER
    return Plan(
        decisions=len(selection.rows),
        skipped=selection.skipped,
        withheld=selection.withheld,
        **build_estimate(RUNNER, agent, gate, prompt_tokens, answers, RUNNER.problem_of(gate.model)),
    )


def _estimate_tokens(db, gate, selection: DecisionSelection):
    """Estimate the tokens of the questions about all decisions, from an even sample."""
    count = len(selection.rows)
    sampled_rows = selection.rows[:: -(-count // MEASURED_WINDOWS) or 1]
    token_counts = [
        gate.prompt_tokens(window) for row in sampled_rows if (window := windows.read_window(db, row.window_hash))
    ]
    return round(sum(token_counts) / len(token_counts) * count) if token_counts else 0
