"""Which samples of an export say the same, which of them it keeps, and which side each session is on."""

import hashlib
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from django.db import DEFAULT_DB_ALIAS

from openclaw_web.sqlite import statements

from ..exporters.samples import read_sample
from ..models import DatasetSample
from . import alike, signatures
from .fates import DUPLICATE, ONE, Plan
from .gathered import Gathered, Row, gather, spread
from .numbers import Numbers
from .texts import grams, identity, words_of

GRAMS_KEPT = 500_000  # 4 MB
Array = np.ndarray[Any, Any]


def plan(
    batches: Iterable[list[Row]],
    *,
    folder: Path,
    seed: str,
    duplicates: str,
    side_of: Callable[[int], int],
    hear: Callable[[int], None],
) -> Plan:
    """Compare samples (rows of gathered.COLUMNS in the order of their places) and decide.

    `duplicates`: ONE keeps one of those that are alike; KEEP keeps all, and puts their sessions on the same side.
    `side_of` gives the number of the side for a number of 64 bits. In `folder` is room for 512 bytes a sample.
    """
    numbers = Numbers(folder)
    try:
        found = Gathered(numbers)
        gather(batches, found, hear)
        groups = (_One if duplicates == ONE else _Kept)(found)
        _find(found, groups)
    finally:
        numbers.close()
    return _decided(found, groups, seed, side_of)


class _One:
    """Of what is alike, the first is kept: a sample that is left out has a better one that is like it."""

    def __init__(self, found: Gathered):
        self.is_kept = np.ones(len(found), dtype=bool)

    def is_worth(self, ones: Array, others: Array) -> Array:
        return self.is_kept[ones] & self.is_kept[others]

    def is_open(self, places: Array) -> Array:
        return self.is_kept[places]

    def join(self, _place: int, others: Array) -> None:
        self.is_kept[others] = False

    def sides(self, keys: Array) -> Array:
        """The number that decides the side of each session, from the smallest of what it keeps."""
        return keys


class _Kept:
    """Everything is kept, and sessions that have something alike are one set."""

    def __init__(self, found: Gathered):
        self.is_kept = np.ones(len(found), dtype=bool)
        self.sessions = found.column("session")
        self.parents = np.arange(found.session_count)  # of each session one of its set, at last the set's first

    def is_worth(self, ones: Array, others: Array) -> Array:
        return self._sets(ones) != self._sets(others)

    def is_open(self, places: Array) -> Array:
        sets = self._sets(places)
        return np.full(len(places), len(sets) > 0 and bool((sets != sets[0]).any()))

    def join(self, place: int, others: Array) -> None:
        sets = self._sets(np.append(others, place))
        self.parents[sets] = sets.min()

    def sides(self, keys: Array) -> Array:
        """The number that decides the side of each session: the smallest of its set."""
        sets = self._firsts(np.arange(len(keys)))
        smallest = keys.copy()
        np.minimum.at(smallest, sets, keys)
        return smallest[sets]

    def _sets(self, places):
        return self._firsts(self.sessions[places])

    def _firsts(self, sessions):
        found = self.parents[sessions]
        while ((further := self.parents[found]) != found).any():
            found = further
        self.parents[sessions] = found
        return found


class _Texts:
    """The grams of samples, read when they are asked for; some are kept, as the better one of many is asked often."""

    def __init__(self, found: Gathered):
        self.handles = found.column("handle")
        self.pairs = found.column("pair")
        self.kept: dict[int, Array] = {}
        self.size = 0
        # Written out once: the ORM takes ten times longer to write it than SQLite to answer.
        asked = DatasetSample.objects.filter(signature=0).values_list(*signatures.SAMPLE_COLUMNS)
        self.query, _values = asked.query.sql_with_params()

    def grams_of(self, places: list[int]) -> list[Array]:
        """The grams of the samples at these places, as sorted numbers."""
        if self.size > GRAMS_KEPT:
            self.kept, self.size = {}, 0
        for place in places:
            if place not in self.kept:
                self.kept[place] = self._read(place)
                self.size += len(self.kept[place])
        return [self.kept[place] for place in places]

    def _read(self, place):
        """The grams of one sample; none of one that was removed or edited since."""
        for row in statements.rows(DEFAULT_DB_ALIAS, self.query, [int(self.handles[place])]):
            prompt, reply = signatures.pair(read_sample(dict(zip(signatures.SAMPLE_COLUMNS, row, strict=True))))
            if int.from_bytes(identity(prompt, reply)[:8]) == self.pairs[place]:
                hashed = {hash(gram) for gram in grams(words_of(prompt, reply))}
                return np.sort(np.fromiter(hashed, dtype=np.int64, count=len(hashed)))
        return np.empty(0, dtype=np.int64)


def _find(found, groups):
    """Tell `groups` of everything that is alike: first what has the same words, then what has nearly the same."""
    order = found.best_first()
    is_first = np.ones(len(order), dtype=bool)
    for places in alike.buckets(found.column("words")[order], order):
        groups.join(places[0], places[1:])
        is_first[places[1:]] = False
    is_first &= found.column("has_numbers").astype(bool)
    alike.compare(found.numbers, order[is_first[order]], _Texts(found).grams_of, groups)


def _decided(found, groups, seed, side_of):
    sessions, kept = found.column("session"), np.flatnonzero(groups.is_kept)
    smallest = np.full(found.session_count, np.iinfo(np.uint64).max, dtype=np.uint64)
    keys = spread(found.column("pair")[kept] ^ _number(seed))
    np.minimum.at(smallest, sessions[kept], keys)
    keys = spread(groups.sides(smallest))  # the smallest of many is a small one: spread evenly again
    sides = np.fromiter(map(side_of, keys.tolist()), dtype=np.uint8, count=len(keys))
    fates = sides[sessions]
    fates[~groups.is_kept] = DUPLICATE
    order = np.argsort(found.column("key"))
    return Plan(array("q", found.column("key")[order].tobytes()), fates[order].tobytes())


def _number(seed):
    return np.uint64(int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest()[:8]))
