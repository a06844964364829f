"""Plans a run of the gate: turns, endpoint, and estimated tokens and cost.

Nothing is sent for a plan.
"""

from dataclasses import dataclass

from agents.models import Agent
from agents.runners.runner import build_estimate
from ledger.models import ConversationTurn
from ledger.transcripts import contexts
from openclaw_web.llm.estimates import Estimate
from people.configuration import setting_values as configuration

from . import config, turn_selection, turn_window
from .config import RUNNER, Gate
from .turn_selection import TurnChoice

MEASURED_WINDOWS = 50  # turns whose windows are built; the tokens of the others are estimated from these
USUAL_ANSWER = 150  # tokens of a decision with its reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Estimate):
    """The estimate of a run and its number of turns."""

    turns: int


def plan_run(agent: Agent, choice: TurnChoice) -> Plan:
    """Estimate a run of the gate over these turns. Raises NoSuchSession."""
    gate = config.get_configured_gate()
    selection = turn_selection.select_turns(agent.db, choice, gate.model, gate.prompt.version)
    prompt_tokens, answers = _estimate_tokens(agent.db, gate, selection.ids), len(selection.ids) * USUAL_ANSWER
    return Plan(
        turns=len(selection.ids),
        withheld=selection.withheld,
        **build_estimate(RUNNER, agent, gate, prompt_tokens, answers, RUNNER.problem_of()),
    )


def _estimate_tokens(db, gate: Gate, ids):
    """Estimate the tokens of the questions about these turns, from an even sample of them."""
    step = -(-len(ids) // MEASURED_WINDOWS) or 1
    sampled_ids, size = ids[::step], configuration.get_number(contexts.SETTING)
    turns = ConversationTurn.objects.using(db).in_bulk(sampled_ids)
    windows = [turn_window.build_window(db, turn, size) for turn in turns.values()]
    token_counts = [gate.prompt_tokens(window) for window in windows if window]
    return round(sum(token_counts) / len(token_counts) * len(ids)) if token_counts else 0
