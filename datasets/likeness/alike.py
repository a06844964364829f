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
SMALL = 32  # texts: of as many, or fewer, that share a band every pair is looked at in one go with those of others
PAIRS_AT_ONCE = 4_096
TEXTS_AT_ONCE = 50
GramsOf = Callable[[list[int]], list[Array]]


class Groups(Protocol):
    """What is known so far of who is alike."""

    def is_worth(self, ones: Array, others: Array) -> Array:
        """Of which pairs it is not known yet, and matters, whether they are alike."""

    def is_open(self, places: Array) -> Array:
        """Between which of these something is left to find out."""

    def join(self, place: int, others: Array) -> None:
        """These are like the one."""


def compare(numbers: Numbers, order: Array, grams_of: GramsOf, groups: Groups) -> None:
    """Tell `groups` of everything that is alike among the places of `order`, the better ones first.

    `grams_of` gives the grams of the texts at some places as sorted numbers.
    """
    for band in range(BANDS):
        small: dict[int, list[Array]] = {}
        for places in buckets(numbers.keys(band)[order], order):
            if len(places) <= SMALL:
                small.setdefault(len(places), []).append(places)
            else:
                _compare_with_best(numbers, band, places, grams_of, groups)
        for found in small.values():
            _compare_pairs(numbers, band, np.stack(found), grams_of, groups)


def buckets(keys: Array, order: Array) -> Iterator[Array]:
    """The places of `order` that share a key, in that order; those that share theirs with none are in no bucket."""
    by_key = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[by_key])) + 1
    starts, ends = np.concatenate(([0], edges)), np.concatenate((edges, [len(keys)]))
    for start, end in zip(*(one[ends - starts > 1].tolist() for one in (starts, ends)), strict=True):
        yield order[by_key[start:end]]


def _compare_pairs(numbers, band, found, grams_of, groups):
    """Every pair of each row of `found`, in the order of the row."""
    first, second = np.triu_indices(found.shape[1], 1)
    step = max(1, PAIRS_AT_ONCE // len(first))
    for start in range(0, len(found), step):
        some = found[start : start + step]
        ones, others = some[:, first].ravel(), some[:, second].ravel()
        is_worth = groups.is_worth(ones, others)
        ones, others = ones[is_worth], others[is_worth]
        places, where = np.unique(np.concatenate((ones, others)), return_inverse=True)
        rows = numbers.rows(places)
        is_likely = _likely(rows[where[: len(ones)]], rows[where[len(ones) :]], band)
        for one, other in zip(ones[is_likely].tolist(), others[is_likely, None], strict=True):
            if groups.is_worth(np.array([one]), other).all():
                groups.join(one, _alike(one, other, grams_of))


def _compare_with_best(numbers, band, places, grams_of, groups):
    """Many that share a band: the best with all others, then the best of those that are left."""
    bucket = numbers.rows(places) if len(places) <= AT_ONCE else None
    rows = bucket.__getitem__ if bucket is not None else lambda some: numbers.rows(places[some])
    left = np.flatnonzero(groups.is_open(places))
    while len(left) > 1:
        first, left = left[:1], left[1:]
        for start in range(0, len(left), AT_ONCE):
            others = left[start : start + AT_ONCE]
            others = others[groups.is_worth(places[first], places[others])]
            if len(others):
                likely = places[others[_likely(rows(first), rows(others), band)]]
                for at in range(0, len(likely), TEXTS_AT_ONCE):
                    best = int(places[first[0]])
                    groups.join(best, _alike(best, likely[at : at + TEXTS_AT_ONCE], grams_of))
        left = left[groups.is_open(places[left])]


def _likely(ones, others, band):
    """Which pairs of signatures are much the same, without those that an earlier band has brought together."""
    same = others == ones
    is_likely = same.sum(axis=1) >= LEAST
    if band:
        earlier = same[is_likely, : band * WIDTH].reshape(-1, band, WIDTH)
        is_likely[is_likely] = ~earlier.all(axis=2).any(axis=1)
    return is_likely


def _alike(place, others, grams_of):
    own, *found = grams_of([place, *others.tolist()])
    return others[[jaccard(own, one) >= ALIKE for one in found]]


def jaccard(one: Array, other: Array) -> float:
    """Of two sorted sets of numbers: see texts.jaccard."""
    shared = np.intersect1d(one, other, assume_unique=True).size
    return shared / (one.size + other.size - shared) if shared else 0.0
