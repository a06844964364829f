"""What a replay would send, where to, and about what it would cost; nothing is sent for it."""

from dataclasses import dataclass

from agents.models import Agent
from agents.runners.runner import estimate
from openclaw_web.llm.estimates import Estimate

from ..deciding.plans import SAMPLED, USUAL_ANSWER
from ..recording import windows
from . import choosing
from .choosing import Chosen
from .starting import RUNNER
from .wanted import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Estimate):
    """What would be sent of how many decisions; `skipped` are those without a stored window."""

    decisions: int
    skipped: int


def plan(agent: Agent, wanted: Wanted) -> Plan:
    """What replaying these decisions of an agent would mean."""
    gate, chosen = wanted.gate, choosing.choose(agent, wanted)
    prompt_tokens, answers = _tokens(agent.db, gate, chosen), len(chosen.rows) * USUAL_ANSWER
    return Plan(
        decisions=len(chosen.rows),
        skipped=chosen.skipped,
        withheld=chosen.withheld,
        **estimate(RUNNER, agent, gate, prompt_tokens, answers, RUNNER.problem_of(gate.model)),
    )


def _tokens(db, gate, chosen: Chosen):
    """About how many tokens asking about all of them has, from some that are spread evenly."""
    count = len(chosen.rows)
    some = chosen.rows[:: -(-count // SAMPLED) or 1]
    found = [gate.prompt_tokens(window) for row in some if (window := windows.read(db, row.window_hash))]
    return round(sum(found) / len(found) * count) if found else 0
