"""What a run of the gate would send, where to, and about what it would cost; nothing is sent for it."""

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

MEASURED_WINDOWS = 50  # turns whose windows are built; the tokens of the others follow from these
USUAL_ANSWER = 150  # tokens of a decision with its reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Estimate):
    """What would be sent of how many turns."""

    turns: int


def plan_run(agent: Agent, asked: TurnChoice) -> Plan:
    """What judging these turns of an agent would mean. Raises NoSuchSession."""
    gate = config.get_configured_gate()
    chosen = turn_selection.select_turns(agent.db, asked, gate.model, gate.prompt.version)
    prompt_tokens, answers = _tokens(agent.db, gate, chosen.ids), len(chosen.ids) * USUAL_ANSWER
    return Plan(
        turns=len(chosen.ids),
        withheld=chosen.withheld,
        **build_estimate(RUNNER, agent, gate, prompt_tokens, answers, RUNNER.problem_of()),
    )


def _tokens(db, gate: Gate, ids):
    """About how many tokens asking about all of these turns has, from some of them that are spread evenly."""
    step = -(-len(ids) // MEASURED_WINDOWS) or 1
    some, size = ids[::step], configuration.get_number(contexts.SETTING)
    turns = ConversationTurn.objects.using(db).in_bulk(some)
    windows = [turn_window.build_window(db, turn, size) for turn in turns.values()]
    found = [gate.prompt_tokens(window) for window in windows if window]
    return round(sum(found) / len(found) * len(ids)) if found else 0
