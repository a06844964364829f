"""What a replay would send, where to, and about what it would cost; nothing is sent for it."""

from dataclasses import asdict, dataclass
from typing import Any

from agents.models import Agent
from people.configuration import keys as configuration

from ..deciding import allowance, gates
from ..deciding.plans import SAMPLED, USUAL_ANSWER
from ..recording import windows
from . import choosing
from .choosing import Chosen
from .wanted import Wanted


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be sent. `problem` says why nothing can be, and is empty when something can.

    `skipped` are decisions without a stored window, `withheld` those whose words may not be used today. `tokens` and
    `cost_usd` are estimates; the cost is None when no price is set. `left_today` is what the limit of this UTC day
    leaves, None without a limit.
    """

    agent: str
    decisions: int
    skipped: int
    withheld: int
    host: str
    model: str
    prompt_version: str
    tokens: int
    cost_usd: float | None
    limit_today: int
    left_today: int | None
    problem: str

    @property
    def is_beyond_limit(self) -> bool:
        """Whether the limit of today is likely to end the replay before its last decision."""
        return self.left_today is not None and self.tokens > self.left_today

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "is_beyond_limit": self.is_beyond_limit}


def plan(agent: Agent, wanted: Wanted) -> Plan:
    """What replaying these decisions of an agent would mean."""
    gate, chosen = wanted.gate, choosing.choose(agent, wanted)
    prompt_tokens, answers = _tokens(agent.db, gate, chosen), len(chosen.rows) * USUAL_ANSWER
    return Plan(
        agent=agent.agent_id,
        decisions=len(chosen.rows),
        skipped=chosen.skipped,
        withheld=chosen.withheld,
        host=gate.endpoint.host,
        model=gate.model,
        prompt_version=gate.prompt.version,
        tokens=prompt_tokens + answers,
        cost_usd=gate.cost(prompt_tokens, answers),
        limit_today=configuration.get(allowance.SETTING),
        left_today=allowance.left(agent.db),
        problem=gates.problem_of(gate.model),
    )


def _tokens(db, gate, chosen: Chosen):
    """About how many tokens asking about all of them has, from some that are spread evenly."""
    count = len(chosen.rows)
    some = chosen.rows[:: -(-count // SAMPLED) or 1]
    found = [gate.prompt_tokens(window) for row in some if (window := windows.read(db, row.window_hash))]
    return round(sum(found) / len(found) * count) if found else 0
