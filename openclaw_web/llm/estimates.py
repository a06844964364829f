"""Estimates of the requests and the cost of a run."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The endpoint and the estimated cost of a run of an agent.

    `withheld` is how many further items are not sent because consent for their text is missing today. `tokens` and
    `cost_usd` are estimates; the cost is None when no price is set. `left_today` is the number of tokens that remain of
    today's limit (UTC), None without a limit. `problem` says why nothing can be sent; it is empty when something can.
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
        """Whether today's limit is likely to end the run early."""
        return self.left_today is not None and self.tokens > self.left_today

    def as_json(self) -> dict[str, Any]:
        """All fields as a dictionary, for commands and the API."""
        return {**asdict(self), "is_beyond_limit": self.is_beyond_limit}
