"""Histograms of latencies whose percentiles are within 5 % of exact ones, however many decisions they hold.

Up to EXACT milliseconds each has a bucket of its own; above, buckets grow by 8 %, and the value that stands for one is
at most 4 % from any latency in it, and rounded to a whole millisecond.
"""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

EXACT = 50
GROWTH = 1.08
_LOG = math.log(GROWTH)
Histogram = Mapping[str, int]


def bucket(latency_ms: int) -> str:
    """The bucket of a latency; buckets are in the order of their numbers."""
    if latency_ms <= EXACT:
        return str(max(0, latency_ms))
    return str(EXACT + math.ceil(round(math.log(latency_ms / EXACT) / _LOG, 9)))


def percentile(histogram: Histogram, share: float) -> int | None:
    """The latency in milliseconds that `share` of all do not exceed; None of an empty histogram."""
    return percentiles(histogram, (share,))[0]


def percentiles(histogram: Histogram, shares: Iterable[float]) -> list[int | None]:
    """The same for several shares, the smallest first."""
    total = sum(histogram.values())
    if not total:
        return [None for _share in shares]
    buckets = sorted((int(name), count) for name, count in histogram.items())
    found: list[int | None] = []
    number, passed = 0, buckets[0][1]
    for share in shares:
        rank = max(1, math.ceil(share * total))
        while passed < rank:
            number += 1
            passed += buckets[number][1]
        found.append(_value(buckets[number][0]))
    return found


def add(histogram: dict[str, int], more: Histogram) -> None:
    """Add to a histogram; a bucket that comes to nothing is left out."""
    known = histogram.get
    for name, count in more.items():
        histogram[name] = known(name, 0) + count
    for name in [name for name in more if not histogram[name]]:
        del histogram[name]


@lru_cache(maxsize=2_000)
def _value(number):
    if number <= EXACT:
        return number
    upper = EXACT * GROWTH ** (number - EXACT)
    return round(2 * upper / (GROWTH + 1))
