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
from .disjoint_sets import SessionSets
from .fates import DUPLICATE, ONE, SHORT, Plan
from .gathered import Gathered, Row, gather, spread
from .numbers import Numbers
from .texts import grams, identity, words_of

GRAMS_KEPT = 500_000  # 4 MB
LENGTHS_KEPT = 100_000
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
    Sessions with one id share a side, whichever agents have them.
    `side_of` gives the number of the side for a number of 64 bits. In `folder` is room for 512 bytes a sample.
    """
    numbers = Numbers(folder)
    try:
        found = Gathered(numbers)
        gather(batches, found, hear)
        texts = _Texts(found)
        groups = (_One if duplicates == ONE else _Kept)(found, texts)
        _find(found, groups, texts)
    finally:
        numbers.close()
    return _decided(found, groups, seed, side_of)


class _Groups:
    """What is known so far of who is alike, and which sessions have to share a side for it."""

    def __init__(self, found: Gathered, texts: "_Texts"):
        self.is_kept = np.ones(len(found), dtype=bool)
        self.sessions = found.column("session")
        self.sets = SessionSets(found.column("name"))
        self.texts = texts

    def sets_of(self, places: Array) -> Array:
        """The sets of sessions that these samples are in."""
        return self.sets.of(self.sessions[places])


class _One(_Groups):
    """Of what is alike, the first is kept: a sample that is left out has a better one that is like it.

    Sessions share a side when one lost a sample to the other, unless that is short: “thank you” connects nobody.
    """

    def __init__(self, found: Gathered, texts: "_Texts"):
        super().__init__(found, texts)
        self.winners = np.arange(len(found))  # of each sample one that it was left out for, at last one that is kept

    def is_worth(self, ones: Array, others: Array) -> Array:
        return self.is_kept[ones] & self.is_kept[others]

    def is_open(self, places: Array) -> Array:
        return self.is_kept[places]

    def join(self, place: int, others: Array) -> None:
        self.is_kept[others] = False
        self.winners[others] = place
        others = others[self.sets_of(others) != self.sets_of(np.array([place]))]
        others = others[[self.texts.is_long(other) for other in others.tolist()]] if len(others) else others
        if len(others):
            self.sets.join(self.sessions[np.append(others, place)])

    def teachers(self) -> Array:
        """For each sample the place of the one that is kept for it, which is its own for most."""
        winners = self.winners
        while ((further := winners[winners]) != winners).any():
            winners = further
        return winners


class _Kept(_Groups):
    """Everything is kept, and sessions that have something alike are one set."""

    def is_worth(self, ones: Array, others: Array) -> Array:
        return self.sets_of(ones) != self.sets_of(others)

    def is_open(self, places: Array) -> Array:
        sets = self.sets_of(places)
        return np.full(len(places), len(sets) > 0 and bool((sets != sets[0]).any()))

    def join(self, place: int, others: Array) -> None:
        self.sets.join(self.sessions[np.append(others, place)])

    def teachers(self) -> Array:
        """For each sample its own place."""
        return np.arange(len(self.is_kept))


class _Texts:
    """The words of samples, read when they are asked for; some are kept, as the better one of many is asked often."""

    def __init__(self, found: Gathered):
        self.handles = found.column("handle")
        self.pairs = found.column("pair")
        self.words = found.column("words")
        self.lengths: dict[int, bool] = {}  # of words, by their hash: whether they are more than a few
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

    def is_long(self, place: int) -> bool:
        """Whether the sample at a place has more than SHORT words; read once for all that have the same words."""
        number = int(self.words[place])
        if number not in self.lengths:
            if len(self.lengths) >= LENGTHS_KEPT:
                self.lengths.clear()
            self.lengths[number] = len(self._words(place)) > SHORT
        return self.lengths[number]

    def _read(self, place):
        """The grams of one sample, as sorted numbers."""
        hashed = {hash(gram) for gram in grams(self._words(place))}
        return np.sort(np.fromiter(hashed, dtype=np.int64, count=len(hashed)))

    def _words(self, place):
        """The words of one sample; none of one that was removed or edited since."""
        for row in statements.rows(DEFAULT_DB_ALIAS, self.query, [int(self.handles[place])]):
            prompt, reply = signatures.pair(read_sample(dict(zip(signatures.SAMPLE_COLUMNS, row, strict=True))))
            if int.from_bytes(identity(prompt, reply)[:8]) == self.pairs[place]:
                return words_of(prompt, reply)
        return []


def _find(found, groups, texts):
    """Tell `groups` of everything that is alike: first what has the same words, then what has nearly the same."""
    order = found.best_first()
    is_first = np.ones(len(order), dtype=bool)
    for places in alike.buckets(found.column("words")[order], order):
        groups.join(int(places[0]), places[1:])
        is_first[places[1:]] = False
    is_first &= found.column("has_numbers").astype(bool)
    alike.compare(found.numbers, order[is_first[order]], texts.grams_of, groups)


def _decided(found, groups, seed, side_of):
    sessions, kept = found.column("session"), np.flatnonzero(groups.is_kept)
    smallest = np.full(found.session_count, np.iinfo(np.uint64).max, dtype=np.uint64)
    keys = spread(found.column("pair")[kept] ^ _number(seed))
    np.minimum.at(smallest, sessions[kept], keys)
    keys = spread(groups.sets.smallest(smallest))  # the smallest of many is a small one: spread evenly again
    sides = np.fromiter(map(side_of, keys.tolist()), dtype=np.uint8, count=len(keys))
    fates = sides[sessions]
    taught, taught_on = _taught(found.column("words"), fates[groups.teachers()])
    fates[~groups.is_kept] += DUPLICATE
    order = np.argsort(found.column("key"))
    return Plan(
        array("q", found.column("key")[order].tobytes()),
        fates[order].tobytes(),
        taught,
        taught_on,
        samples=len(kept),
        largest_set=int(np.bincount(groups.sets_of(kept)).max()) if len(kept) else 0,
    )


def _taught(words, sides):
    """Every number of words with the sides that teach them as bits; nothing when there is one side only."""
    if not len(sides) or (sides == sides[0]).all():
        return array("Q"), b""
    numbers, which = np.unique(words, return_inverse=True)
    taught_on = np.zeros(len(numbers), dtype=np.uint8)
    np.bitwise_or.at(taught_on, which, np.left_shift(1, sides).astype(np.uint8))
    return array("Q", numbers.tobytes()), taught_on.tobytes()


def _number(seed):
    return np.uint64(int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest()[:8]))
