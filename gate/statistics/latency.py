"""Histograms of latencies whose percentiles are exact within 5 %.

Each value up to EXACT milliseconds has a bucket of its own. Above, buckets grow by 8 %; the value of a bucket is at
most 4 % from any latency in it, and rounded to a whole millisecond.
"""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

EXACT = 50
GROWTH = 1.08
MOST = 10**12  # milliseconds; a longer latency counts as that
# SQL: the bucket of a decision as text; null: its latency is not known.
BUCKET_SQL = f"""
    CAST(CAST(CASE WHEN llm_latency_ms <= {EXACT} THEN MAX(0, llm_latency_ms) WHEN llm_latency_ms > {EXACT} THEN
        {EXACT} + CEILING(ROUND(LN(MIN({MOST}, llm_latency_ms) / {EXACT}.0) / LN({GROWTH}), 9)) END AS INTEGER) AS TEXT)
"""
Histogram = Mapping[str, int]


def percentile(histogram: Histogram, share: float) -> int | None:
    """Return the latency in milliseconds that `share` of all do not exceed, or None."""
    return percentiles(histogram, (share,))[0]


def percentiles(histogram: Histogram, shares: Iterable[float]) -> list[int | None]:
    """Return the latencies that these shares do not exceed, the smallest share first."""
    total = sum(histogram.values())
    if not total:
        return [None for _share in shares]
    buckets = sorted((int(name), count) for name, count in histogram.items())
    values: list[int | None] = []
    number, passed = 0, buckets[0][1]
    for share in shares:
        rank = max(1, math.ceil(share * total))
        while passed < rank:
            number += 1
            passed += buckets[number][1]
        values.append(_get_bucket_value(buckets[number][0]))
    return values


def add(histogram: dict[str, int], more: Histogram) -> None:
    """Add another histogram; a bucket whose count becomes 0 is removed."""
    get_count = histogram.get
    for name, count in more.items():
        histogram[name] = get_count(name, 0) + count
    for name in [name for name in more if not histogram[name]]:
        del histogram[name]


@lru_cache(maxsize=2_000)
def _get_bucket_value(number):
    if number <= EXACT:
        return number
    upper = EXACT * GROWTH ** (number - EXACT)
    return round(2 * upper / (GROWTH + 1))
