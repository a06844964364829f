"""Reads tokens and cost of a model call, in the spellings of OpenClaw and providers.

Pure: no Django, no files.
"""

from dataclasses import dataclass
from typing import Any

MAX_AMOUNT = 10**12
INPUT = ("input", "inputTokens", "input_tokens")
PROMPT = ("promptTokens", "prompt_tokens", "promptTokenCount")  # with what came from the cache
OUTPUT = ("output", "outputTokens", "output_tokens", "completionTokens", "completion_tokens", "candidatesTokenCount")
CACHE_READ = ("cacheRead", "cacheReadTokens", "cache_read", "cache_read_input_tokens", "cacheReadInputTokens")
CACHE_WRITE = (
    *("cacheWrite", "cacheWriteTokens", "cache_write", "cache_creation_input_tokens"),
    *("cacheWriteInputTokens", "cacheCreationInputTokens"),
)
TOTAL = ("totalTokens", "total_tokens", "total", "totalTokenCount")
# The part of a prompt that came from the cache: beside the prompt, and in an object of its own.
CACHED = ("cached_tokens", "cachedTokens", "cachedInputTokens", "prompt_cache_hit_tokens", "cachedContentTokenCount")
DETAILS = ("prompt_tokens_details", "input_tokens_details", "promptTokensDetails", "inputTokensDetails")
COSTS = ("input", "output", "cacheRead", "cacheWrite", "cache_read", "cache_write", "reasoning")


@dataclass(slots=True)
class Usage:
    """Tokens and US dollars of one model call.

    `cost` is None when the record does not say.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    cost: float | None = None

    @property
    def prompt(self) -> int:
        """The tokens that the model read: new, from the cache and into the cache."""
        return self.input + self.cache_read + self.cache_write


def read_usage(usage: dict[str, Any]) -> Usage:
    """The usage object of a record.

    Values that are not numbers, or out of range, are ignored.
    """
    read = Usage(
        _find_count(usage, INPUT),
        _find_count(usage, OUTPUT),
        _find_count(usage, CACHE_READ),
        _find_count(usage, CACHE_WRITE),
    )
    given = _find_count(usage, TOTAL)
    if not read.input or (not read.cache_read and "cacheRead" not in usage):
        # Read a prompt that is given as a whole, and its part from the cache.
        is_whole = not usage.get("input")
        read.input = read.input or _find_count(usage, PROMPT)
        if not read.cache_read:
            inner = (details for name in DETAILS if isinstance(details := usage.get(name), dict))
            cached = _find_count(usage, CACHED) or next((_find_count(details, CACHED) for details in inner), 0)
            read.cache_read, is_inside = cached, is_whole
        else:
            is_inside = is_whole and bool(_find_count(usage, PROMPT))
        if is_inside and given != read.prompt + read.output:
            read.input = max(0, read.input - read.cache_read - read.cache_write)
    read.total = given or read.prompt + read.output
    read.cost = _compute_cost(usage.get("cost"), read.total)
    return read


def _find_count(usage, names):
    """The first of these numbers that is not 0."""
    for name in names:
        value = usage.get(name)
        if value and isinstance(value, int | float) and value is not True and 0 < value <= MAX_AMOUNT:
            return int(value)
    return 0


def _compute_cost(cost, tokens):
    """The dollars of a call: the total, else the sum of its parts.

    A cost of 0 for tokens is no price.
    """
    total = _valid_dollars(cost.get("total")) if isinstance(cost, dict) else _valid_dollars(cost)
    if not total and isinstance(cost, dict):
        parts = [part for name in COSTS if (part := _valid_dollars(cost.get(name))) is not None]
        total = sum(parts) if parts else total
    return None if tokens and not total else total


def _valid_dollars(value):
    is_usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_AMOUNT
    return float(value) if is_usable else None
