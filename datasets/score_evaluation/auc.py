"""The area under the ROC curve with its interval: numbers only, without Django and tables."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

Z = 1.959964  # standard score of 95%


class Area(NamedTuple):
    """An area under the ROC curve, 0 to 1, with its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def strength(self) -> float:
        """The area of the better one of both directions, 0.5 to 1."""
        return max(self.value, 1 - self.value)


def estimate_area(positives: Sequence[float], negatives: Sequence[float]) -> Area:
    """The share of pairs whose positive has the higher number; equal numbers are half a pair.

    Each side has at least two numbers. The interval is that of DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988),
    page 837, cut to 0 to 1. It has no width when all pairs are in the same order.
    """
    above = _rank_among(positives, sorted(negatives))
    below = _rank_among(negatives, sorted(positives))
    value = math.fsum(above) / len(above)
    margin = Z * math.sqrt(_compute_variance(above) / len(above) + _compute_variance(below) / len(below))
    return Area(value, max(0.0, value - margin), min(1.0, value + margin))


def _rank_among(values, ordered):
    """For each value the share of the ordered ones that are lower, equal ones as half."""
    return [(bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 / len(ordered) for value in values]


def _compute_variance(values):
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
