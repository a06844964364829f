"""What a run would send to a model, before anything is sent."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Where a run of an agent would send something, and about what it would cost.

    `withheld` is how many more things are not sent because their words may not be used today.
    `tokens` and `cost_usd` are estimates; the cost is None when no price is set. `left_today` is what the limit of this
    UTC day leaves, None without a limit. `problem` says why nothing can be sent, and is empty when something can.
    """

    agent: str
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
        """Whether the limit of today is likely to end the run before it is done."""
        return self.left_today is not None and self.tokens > self.left_today

    def as_json(self) -> dict[str, Any]:
        """All of it, as commands and the API tell it."""
        return {**asdict(self), "is_beyond_limit": self.is_beyond_limit}
