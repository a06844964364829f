"""The usage of a call as the endpoint reports it; impossible numbers are ignored."""

from dataclasses import dataclass
from typing import Any

MOST = 10**12  # no call has more tokens or costs more; sums of smaller numbers fit into every number type


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and US dollars of one call; None means unknown."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


NOTHING_KNOWN = Usage()


def read_usage(answer: Any) -> Usage:
    """Read the usage in an answer, whose values may be of any type."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return NOTHING_KNOWN
    return Usage(
        _read_tokens(usage.get("prompt_tokens")),
        _read_tokens(usage.get("completion_tokens")),
        _read_cost(usage.get("cost")),
    )


def _read_tokens(value):
    return value if type(value) is int and 0 <= value <= MOST else None  # True is an int, too


def _read_cost(value):
    return float(value) if type(value) in (int, float) and 0 <= value <= MOST else None
