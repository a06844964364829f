"""What a call used, as the endpoint said: numbers that cannot be are not taken."""

from dataclasses import dataclass
from typing import Any

MOST = 10**12  # no call has more tokens or costs more; sums of smaller numbers remain numbers everywhere


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and US dollars of one call; None: not known."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


NOTHING_KNOWN = Usage()


def read_usage(answer: Any) -> Usage:
    """The usage that an answer tells, whatever its values are."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return NOTHING_KNOWN
    return Usage(_tokens(usage.get("prompt_tokens")), _tokens(usage.get("completion_tokens")), _cost(usage.get("cost")))


def _tokens(value):
    return value if type(value) is int and 0 <= value <= MOST else None  # True is an int, too


def _cost(value):
    return float(value) if type(value) in (int, float) and 0 <= value <= MOST else None
