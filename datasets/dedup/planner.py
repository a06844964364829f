"""Which samples of an export say the same, which of them it keeps, and which side each session is on."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Set
from itertools import groupby
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS

from openclaw_web.sqlite import statements

from ..exporters.samples import read_sample
from ..models import DatasetSample
from . import clusters, signatures
from .features import MAX_UINT64, Features, Row, mix_bits, read_features
from .signature_file import SignatureFile
from .split_plan import DUPLICATE, ONE, SHORT, SplitPlan
from .texts import build_grams, compute_identity, split_words


class SessionSets:
    """Disjoint sets of sessions, by the numbers of the sessions; those with one name are in one set from the start."""

    def __init__(self, names: Iterable[int]):
        firsts: dict[int, int] = {}
        # Of each session one of its set, at last the set's first.
        self.parents = array("q", (firsts.setdefault(name, session) for session, name in enumerate(names)))

    def find_set(self, session: int) -> int:
        """The set of a session, by the number of its first session."""
        parents, first = self.parents, session
        while parents[first] != first:
            first = parents[first]
        while parents[session] != first:
            parents[session], session = first, parents[session]
        return first

    def join(self, sessions: Iterable[int]) -> None:
        """Make one set of the sets of these sessions."""
        sets = {self.find_set(session) for session in sessions}
        smallest = min(sets)
        for joined in sets:
            self.parents[joined] = smallest

    def smallest(self, keys: "array[int]") -> "array[int]":
        """For each session the smallest of the keys that its set has; `keys` has one for each session."""
        smallest = array("Q", keys)
        for session, key in enumerate(keys):
            of_set = self.find_set(session)
            smallest[of_set] = min(smallest[of_set], key)
        return array("Q", (smallest[self.find_set(session)] for session in range(len(keys))))


GRAMS_KEPT = 50_000  # 5 MB
LENGTHS_KEPT = 100_000


def build_split_plan(
    batches: Iterable[list[Row]],
    *,
    folder: Path,
    seed: str,
    duplicates: str,
    side_of: Callable[[int], int],
    hear: Callable[[int], None],
) -> SplitPlan:
    """Compare samples (rows of gathered.COLUMNS in the order of their places) and decide.

    `duplicates`: ONE keeps one of those that are alike; KEEP keeps all, and puts their sessions on the same side.
    Sessions with one id share a side, whichever agents have them.
    `side_of` gives the number of the side for a number of 64 bits. In `folder` is room for 512 bytes a sample.
    """
    numbers = SignatureFile(folder)
    try:
        found = Features(numbers)
        read_features(batches, found, hear)
        texts = _Texts(found)
        groups = (_One if duplicates == ONE else _Kept)(found, texts)
        _find(found, groups, texts)
    finally:
        numbers.close()
    return _decided(found, groups, seed, side_of)


class _Groups:
    """What is known so far of who is alike, and which sessions have to share a side for it."""

    def __init__(self, found: Features, texts: "_Texts"):
        self.is_kept = bytearray(b"\x01") * len(found)
        self.sessions = found.column("session")
        self.sets = SessionSets(found.column("name"))
        self.texts = texts

    def set_of(self, place: int) -> int:
        """The set of sessions that a sample is in."""
        return self.sets.find_set(self.sessions[place])


class _One(_Groups):
    """Of what is alike, the first is kept: a sample that is left out has a better one that is like it.

    Sessions share a side when one lost a sample to the other, unless that is short: “thank you” connects nobody.
    """

    def __init__(self, found: Features, texts: "_Texts"):
        super().__init__(found, texts)
        # Of each sample one that it was left out for, at last one that is kept.
        self.winners = array("q", range(len(found)))

    def is_worth(self, one: int, other: int) -> bool:
        return bool(self.is_kept[one] and self.is_kept[other])

    def still_open(self, places: list[int]) -> list[int]:
        return [place for place in places if self.is_kept[place]]

    def join(self, place: int, others: list[int]) -> None:
        own = self.set_of(place)
        for other in others:
            self.is_kept[other] = False
            self.winners[other] = place
        joined = [other for other in others if self.set_of(other) != own and self.texts.is_long(other)]
        if joined:
            self.sets.join(self.sessions[other] for other in (*joined, place))

    def teachers(self) -> "array[int]":
        """For each sample the place of the one that is kept for it, which is its own for most."""
        for place, winner in enumerate(self.winners):
            while self.winners[winner] != winner:
                winner = self.winners[winner]
            self.winners[place] = winner
        return self.winners


class _Kept(_Groups):
    """Everything is kept, and sessions that have something alike are one set."""

    def is_worth(self, one: int, other: int) -> bool:
        return self.set_of(one) != self.set_of(other)

    def still_open(self, places: list[int]) -> list[int]:
        return places if len(set(map(self.set_of, places))) > 1 else []

    def join(self, place: int, others: list[int]) -> None:
        self.sets.join(self.sessions[other] for other in (*others, place))

    def teachers(self) -> "array[int]":
        """For each sample its own place."""
        return array("q", range(len(self.is_kept)))


class _Texts:
    """The words of samples, read when they are asked for; some are kept, as the better one of many is asked often."""

    def __init__(self, found: Features):
        self.handles = found.column("handle")
        self.pairs = found.column("pair")
        self.words = found.column("words")
        self.lengths: dict[int, bool] = {}  # of words, by their hash: whether they are more than a few
        self.kept: dict[int, Set[int]] = {}
        self.size = 0
        # Written out once: the ORM takes ten times longer to write it than SQLite to answer.
        asked = DatasetSample.objects.filter(signature=0).values_list(*signatures.SAMPLE_COLUMNS)
        self.query, _values = asked.query.sql_with_params()

    def grams_of(self, place: int) -> Set[int]:
        """The hashes of the grams of the sample at a place."""
        if place not in self.kept:
            if self.size > GRAMS_KEPT:
                self.kept, self.size = {}, 0
            self.kept[place] = frozenset(map(hash, build_grams(self._words(place))))
            self.size += len(self.kept[place])
        return self.kept[place]

    def is_long(self, place: int) -> bool:
        """Whether the sample at a place has more than SHORT words; read once for all that have the same words."""
        number = self.words[place]
        if number not in self.lengths:
            if len(self.lengths) >= LENGTHS_KEPT:
                self.lengths.clear()
            self.lengths[number] = len(self._words(place)) > SHORT
        return self.lengths[number]

    def _words(self, place):
        """The words of one sample; none of one that was removed or edited since."""
        for row in statements.read_rows(DEFAULT_DB_ALIAS, self.query, [self.handles[place]]):
            prompt, reply = signatures.read_pair(read_sample(dict(zip(signatures.SAMPLE_COLUMNS, row, strict=True))))
            if int.from_bytes(compute_identity(prompt, reply)[:8]) == self.pairs[place]:
                return split_words(prompt, reply)
        return []


def _find(found, groups, texts):
    """Tell `groups` of everything that is alike: first what has the same words, then what has nearly the same."""
    order, has_numbers = found.best_first(), found.column("has_numbers")
    is_first = bytearray(b"\x01") * len(order)
    for best, *others in clusters.find_buckets(found.column("words"), order):
        groups.join(best, others)
        for place in others:
            is_first[place] = False
    order = [place for place in order if is_first[place] and has_numbers[place]]
    clusters.join_similar(found.numbers, order, texts.grams_of, groups)


def _decided(found, groups, seed, side_of):
    sessions, pairs, keys = (found.column(name) for name in ("session", "pair", "key"))
    kept = [place for place, is_kept in enumerate(groups.is_kept) if is_kept]
    smallest = array("Q", [MAX_UINT64]) * found.session_count
    of_seed = _number(seed)
    for place in kept:
        session = sessions[place]
        smallest[session] = min(smallest[session], mix_bits(pairs[place] ^ of_seed))
    # The smallest of many is a small one: spread evenly again.
    sides = bytes(side_of(mix_bits(key)) for key in groups.sets.smallest(smallest))
    fates = bytearray(sides[session] for session in sessions)
    taught, taught_on = _taught(found.column("words"), bytes(fates[place] for place in groups.teachers()))
    for place, is_kept in enumerate(groups.is_kept):
        fates[place] += 0 if is_kept else DUPLICATE
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return SplitPlan(
        array("q", (keys[place] for place in order)),
        bytes(fates[place] for place in order),
        taught,
        taught_on,
        samples=len(kept),
        largest_set=max(Counter(map(groups.set_of, kept)).values(), default=0),
    )


def _taught(words, sides):
    """Every number of words with the sides that teach them as bits; nothing when there is one side only."""
    numbers, taught_on = array("Q"), bytearray()
    if len(set(sides)) < 2:
        return numbers, b""
    for number, places in groupby(sorted(range(len(words)), key=words.__getitem__), key=words.__getitem__):
        numbers.append(number)
        taught_on.append(sum(1 << side for side in {sides[place] for place in places}))
    return numbers, bytes(taught_on)


def _number(seed):
    return int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest()[:8])
