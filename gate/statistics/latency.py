"""Histograms of latencies whose percentiles are within 5 % of exact ones, however many decisions they hold.

Buckets grow by a tenth: a latency lies between 1.1 to the power of its bucket less one and 1.1 to that power. The value
that stands for a bucket is at most 4.8 % from any latency in it.
"""

import math
from collections import Counter
from collections.abc import Mapping

GROWTH = 1.1
NOTHING = "0"  # the bucket of what took less than a millisecond
_LOG = math.log(GROWTH)


def bucket(latency_ms: int) -> str:
    """The bucket of a latency."""
    if latency_ms <= 0:
        return NOTHING
    return str(max(1, math.ceil(round(math.log(latency_ms) / _LOG, 9)) + 1))


def percentile(histogram: Mapping[str, int], share: float) -> int | None:
    """The latency in milliseconds below which `share` of all lie; None of an empty histogram."""
    total = sum(histogram.values())
    if not total:
        return None
    rank = max(1, math.ceil(share * total))
    for name in sorted(histogram, key=int):
        rank -= histogram[name]
        if rank <= 0:
            return _value(name)
    return None


def _value(name):
    if name == NOTHING:
        return 0
    upper = GROWTH ** (int(name) - 1)
    return max(1, round(2 * upper / (GROWTH + 1)))


def merged(*histograms: Mapping[str, int]) -> dict[str, int]:
    """Several histograms as one; what comes to nothing is left out."""
    found: Counter[str] = Counter()
    for histogram in histograms:
        found.update(histogram)
    return {name: count for name, count in sorted(found.items(), key=lambda item: int(item[0])) if count}
