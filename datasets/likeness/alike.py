"""Which of many texts are alike: those that share a band of their signatures are compared, word by word.

32 bands of four numbers miss one pair in 20 million whose Jaccard is 0.8, and none that is much above. What they find
without reason is told by the whole signatures, and what is left by the texts: no pair is called alike that is not.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from .numbers import AT_ONCE, BANDS, WIDTH, Numbers
from .texts import ALIKE

Array = np.ndarray[Any, Any]
# Equal numbers of 128 from which the texts are read: of pairs whose Jaccard is 0.8, one in a million has fewer.
LEAST = 80
TEXTS_AT_ONCE = 50


class Groups(Protocol):
    """What is known so far of who is alike."""

    def is_worth(self, place: int, others: Array) -> Array:
        """Of which of these others it is not known yet, and matters, whether they are like the one."""

    def is_open(self, places: Array) -> Array:
        """Between which of these something is left to find out."""

    def join(self, place: int, others: Array) -> None:
        """These are like the one."""


def compare(numbers: Numbers, order: Array, grams_of: Callable[[list[int]], list[Array]], groups: Groups) -> None:
    """Tell `groups` of everything that is alike among the places of `order`, the better ones first.

    `grams_of` gives the grams of the texts at some places as sorted numbers.
    """
    for band in range(BANDS):
        for places in buckets(numbers.keys(band)[order], order):
            _compare_all(numbers, band, places, grams_of, groups)


def buckets(keys: Array, order: Array) -> Iterator[Array]:
    """The places of `order` that share a key, in that order; those that share theirs with none are in no bucket."""
    by_key = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[by_key])) + 1
    starts, ends = np.concatenate(([0], edges)), np.concatenate((edges, [len(keys)]))
    for start, end in zip(*(one[ends - starts > 1].tolist() for one in (starts, ends)), strict=True):
        yield order[by_key[start:end]]


def _compare_all(numbers, band, places, grams_of, groups):
    bucket = numbers.rows(places) if len(places) <= AT_ONCE else None
    rows = bucket.__getitem__ if bucket is not None else lambda some: numbers.rows(places[some])
    left = np.flatnonzero(groups.is_open(places))
    while len(left) > 1:
        first, left = left[0], left[1:]
        for start in range(0, len(left), AT_ONCE):
            others = left[start : start + AT_ONCE]
            others = others[groups.is_worth(places[first], places[others])]
            if len(others):
                likely = places[others[_likely(rows(np.array([first])), rows(others), band)]]
                for at in range(0, len(likely), TEXTS_AT_ONCE):
                    groups.join(places[first], _alike(places[first], likely[at : at + TEXTS_AT_ONCE], grams_of))
        left = left[groups.is_open(places[left])]


def _likely(own, others, band):
    """Which signatures are much the same as one, without those that an earlier band has brought together with it."""
    same = others == own
    is_likely = same.sum(axis=1) >= LEAST
    earlier = same[is_likely, : band * WIDTH].reshape(-1, band, WIDTH) if band else None
    if earlier is not None:
        is_likely[is_likely] = ~earlier.all(axis=2).any(axis=1)
    return is_likely


def _alike(first, others, grams_of):
    own, *found = grams_of([int(first), *others.tolist()])
    return others[[jaccard(own, one) >= ALIKE for one in found]]


def jaccard(one: Array, other: Array) -> float:
    """Of two sorted sets of numbers: see texts.jaccard."""
    shared = np.intersect1d(one, other, assume_unique=True).size
    return shared / (one.size + other.size - shared)
