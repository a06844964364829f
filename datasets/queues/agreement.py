"""Measures of agreement between reviewers on nominal values, as pure functions.

An item is a tuple of the values that its reviewers gave; items with fewer than two do not count, except as noted. A
measure takes a Counter of items and is None where it is not defined.
* Krippendorff's alpha: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
* Gwet's AC1: Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement; items
  with one value count for the shares of the values.
* Specific agreement: Cicchetti and Feinstein (1990), for more than two reviewers over all pairs of their values.
* Cohen's kappa: Cohen (1960), for items with the values of the same two people, in their order.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

Item = tuple[Hashable, ...]
Items = Counter[Item]
Measure = Callable[[Items], float | None]
Z = NormalDist().inv_cdf(0.975)
ENOUGH = 20  # items, below which no measure is given


class Estimate(NamedTuple):
    """A measure with its interval of 95 %; the interval is None where leaving out an item undefines the measure."""

    value: float
    low: float | None
    high: float | None


def percent(items: Items) -> float | None:
    """The share of pairs of values of an item that are the same, as a mean over items."""
    judged = [(item, count) for item, count in items.items() if len(item) > 1]
    total = sum(count for _item, count in judged)
    return sum(count * _share_same(item) for item, count in judged) / total if total else None


def alpha(items: Items) -> float | None:
    """Krippendorff's alpha for nominal values."""
    judged = [(item, count) for item, count in items.items() if len(item) > 1]
    values = Counter[Hashable]()
    observed = 0.0
    for item, count in judged:
        counts = Counter(item)
        observed += count * sum(n * (len(item) - n) for n in counts.values()) / (len(item) - 1)
        for value, n in counts.items():
            values[value] += n * count
    total = values.total()
    expected = sum(n * (total - n) for n in values.values())
    return 1 - (total - 1) * observed / expected if expected else None


def ac1(items: Items) -> float | None:
    """Gwet's AC1, with the values that occur as categories, at least two."""
    observed, total = percent(items), sum(count for item, count in items.items() if item)
    if observed is None:
        return None
    shares = Counter[Hashable]()
    for item, count in items.items():
        for value in item:
            shares[value] += count / len(item) / total
    chance = sum(share * (1 - share) for share in shares.values()) / (max(2, len(shares)) - 1)
    return (observed - chance) / (1 - chance)


def build_specific(is_positive: Callable[[Hashable], bool]) -> Measure:
    """The measure of agreement on values that are positive: given one, how often another reviewer gives one too."""

    def specific(items: Items) -> float | None:
        both = either = 0
        for item, count in items.items():
            n = sum(map(is_positive, item))
            both += count * n * (n - 1)
            either += count * n * (len(item) - 1)
        return both / either if either else None

    return specific


def kappa(items: Items) -> float | None:
    """Cohen's kappa of two people; every item has the value of the first, then that of the second."""
    total = items.total()
    first, second = Counter[Hashable](), Counter[Hashable]()
    for (a, b), count in items.items():
        first[a] += count
        second[b] += count
    chance = sum(first[value] * second[value] for value in first)
    same = sum(count for (a, b), count in items.items() if a == b)
    return (same * total - chance) / (total * total - chance) if total * total != chance else None


def estimate(measure: Measure, items: Items) -> Estimate | None:
    """A measure with its interval of 95 %: the delete-one jackknife over items, and the normal distribution.

    It needs no random numbers: equal items give equal terms, so that each sort is left out once.
    """
    value, total = measure(items), items.total()
    if value is None:
        return None
    terms = [(measure(items - Counter([item])), count) for item, count in items.items()]
    if total < 2 or any(term is None for term, _count in terms):
        return Estimate(value, None, None)
    mean = sum(term * count for term, count in terms) / total
    spread = Z * sqrt((total - 1) / total * sum(count * (term - mean) ** 2 for term, count in terms))
    return Estimate(value, max(-1.0, value - spread), min(1.0, value + spread))


def wilson(share: float, total: int) -> Estimate:
    """A share of `total` items with Wilson's interval of 95 %, which has a width at 0 and 1 too."""
    middle = (share + Z * Z / (2 * total)) / (1 + Z * Z / total)
    half = Z / (1 + Z * Z / total) * sqrt(share * (1 - share) / total + Z * Z / (4 * total * total))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


def measure_all(items: Sequence[Item], positive: Hashable, *, is_pair: bool = False) -> dict[str, Estimate | None]:
    """Every measure of these items by name; all are None for fewer than ENOUGH items."""
    counts = Counter(item for item in items if len(item) > 1)
    measures: dict[str, Measure] = {
        "alpha": alpha,
        "ac1": ac1,
        "positive": build_specific(lambda value: value == positive),
        "negative": build_specific(lambda value: value != positive),
        "kappa": kappa if is_pair else lambda _items: None,
    }
    share, total = percent(counts), counts.total()
    if share is None or total < ENOUGH:
        return dict.fromkeys(("percent", *measures))
    return {"percent": wilson(share, total)} | {name: estimate(measure, counts) for name, measure in measures.items()}


def _share_same(item):
    return sum(n * (n - 1) for n in Counter(item).values()) / (len(item) * (len(item) - 1))
