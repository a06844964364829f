"""Plans an export: its duplicates, the samples it keeps, and each session's side."""

import hashlib
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import accumulate, compress, groupby
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS

from openclaw_web.sqlite import statements

from ..models import DatasetSample
from ..sample_texts import read_sample
from . import clusters, signatures
from .caps import NO_CAPS, Caps, apply_caps, read_row_tools
from .features import MAX_UINT64, Features, Row, mix_bits, read_features
from .fixed_sides import NO_SIDE, FixedSides, SetSides
from .places import find_buckets, sort_places
from .signature_file import SignatureFile
from .split_plan import ONE, SHORT, SplitPlan
from .texts import build_grams, compute_identity, split_words


class SessionSets:
    """Disjoint sets of sessions that share a side of a split (union-find).

    Sessions are known by their numbers; those with one name are in one set from the start.
    """

    def __init__(self, names: Iterable[int]):
        firsts: dict[int, int] = {}
        # For each session another of its set; following them leads to the set's first.
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
        """Join the sets of these sessions."""
        sets = {self.find_set(session) for session in sessions}
        smallest = min(sets)
        for joined in sets:
            self.parents[joined] = smallest

    def smallest(self, keys: "array[int]") -> "array[int]":
        """For each session the smallest key of its set.

        `keys` has one key for each session.
        """
        smallest = array("Q", keys)
        for session, key in enumerate(keys):
            of_set = self.find_set(session)
            smallest[of_set] = min(smallest[of_set], key)
        return array("Q", (smallest[self.find_set(session)] for session in range(len(keys))))


ROUNDING = 1e-9  # 0.1 and 0.9 need not come to 1
GRAMS_KEPT = 50_000  # hashes of grams: 5 MB
LENGTHS_KEPT = 100_000


def build_split_plan(
    batches: Iterable[list[Row]],
    *,
    folder: Path,
    seed: str,
    duplicates: str,
    shares: Sequence[float],
    report_progress: Callable[[int], None],
    fixed: FixedSides | None = None,
    caps: Caps = NO_CAPS,
) -> SplitPlan:
    """Compare samples, and decide which are kept and which side each session is on.

    `batches` are rows of features.COLUMNS in the order of their places. `duplicates`: ONE keeps one of those that are
    similar; KEEP keeps all, and puts their sessions on the same side. Sessions with one id share a side, whichever
    agents have them. `shares` are those of the sides, together 1. `folder` needs space for 768 bytes a sample. `fixed`:
    sessions that have a side keep it, and of similar samples on different sides one is kept, first that of an earlier
    release. `caps` leave out more; a cap on duplicates replaces the choice of `duplicates`.
    """
    numbers = SignatureFile(folder)
    try:
        features = Features(numbers, fixed, read_row_tools if caps.tool else None)
        read_features(batches, features, report_progress)
        texts = _TextReader(features)
        groups = (_KeepSome if caps.twins else _KeepOne if duplicates == ONE else _KeepAll)(features, texts)
        # Join in `groups` the samples with the same words, then those with nearly the same.
        order, has_numbers = features.rank_places(), features.column("has_numbers")
        is_first = bytearray(b"\x01") * len(order)
        for best, *others in find_buckets(features.column("words"), order):
            groups.join(best, others)
            for place in others:
                is_first[place] = False
        order = array("I", (place for place in order if is_first[place] and has_numbers[place]))
        clusters.join_similar(features.numbers, order, texts.grams_of, groups)
    finally:
        numbers.close()
    return _build_plan(features, groups, seed, shares, apply_caps(caps, features, groups))


class _GroupBase:
    """The groups of similar samples, and the sessions that share a side for them."""

    def __init__(self, features: Features, texts: "_TextReader"):
        self.is_kept = bytearray(b"\x01") * len(features)
        self.sessions = features.column("session")
        self.sets = SessionSets(features.column("name"))
        self.sides = SetSides(features.column("fixed"), self.sets.find_set)
        self.texts = texts

    def set_of(self, place: int) -> int:
        """The set of sessions that a sample is in."""
        return self.sets.find_set(self.sessions[place])

    def may_join(self, place: int, other: int) -> bool:
        """Whether the sessions of two samples can be on one side."""
        return self.sides.may_join(self.sessions[place], self.sessions[other])

    def join_sessions(self, place: int, other: int) -> None:
        """Put the sessions of two samples, which may join, on one side."""
        joined = (self.sessions[place], self.sessions[other])
        side = max(map(self.sides.find_side, joined))
        self.sets.join(joined)
        self.sides.set_side(joined[0], side)


class _KeepOne(_GroupBase):
    """Keeps the first of each group: a sample that is left out has a better one.

    Sessions share a side when one lost a sample to the other, unless that is short: “thank you” connects nobody.
    """

    def __init__(self, features: Features, texts: "_TextReader"):
        super().__init__(features, texts)
        # For each sample a better one; following them leads to one that is kept.
        self.winners = array("I", range(len(features)))

    def joins(self, place: int) -> bool:
        """Whether a sample that is left out connects its session with that of the better one."""
        return self.texts.is_long(place)

    def is_worth(self, place: int, other: int) -> bool:
        return bool(self.is_kept[place] and self.is_kept[other])

    def still_open(self, places: list[int]) -> list[int]:
        return [place for place in places if self.is_kept[place]]

    def join(self, place: int, others: list[int]) -> None:
        for other in others:
            self.is_kept[other] = False
            self.winners[other] = place
            if self.set_of(other) != self.set_of(place) and self.may_join(place, other) and self.joins(other):
                self.join_sessions(place, other)

    def teachers(self) -> "array[int]":
        """For each sample the place of the sample that is kept for it, mostly its own."""
        for place, winner in enumerate(self.winners):
            while self.winners[winner] != winner:
                winner = self.winners[winner]
            self.winners[place] = winner
        return self.winners


class _KeepSome(_KeepOne):
    """Groups samples as _KeepOne does, with all their sessions on one side: a cap keeps more than one of them."""

    def joins(self, place: int) -> bool:
        return True


class _KeepAll(_GroupBase):
    """Keeps all samples; sessions with similar samples are one set.

    Of similar samples on two sides that are fixed, the better one is kept.
    """

    def is_worth(self, place: int, other: int) -> bool:
        return self.set_of(place) != self.set_of(other) and bool(self.is_kept[place] and self.is_kept[other])

    def still_open(self, places: list[int]) -> list[int]:
        open_places = [place for place in places if self.is_kept[place]]
        return open_places if len(set(map(self.set_of, open_places))) > 1 else []

    def join(self, place: int, others: list[int]) -> None:
        for other in others:
            if self.may_join(place, other):
                self.join_sessions(place, other)
            else:
                self.is_kept[other] = False

    def teachers(self) -> "array[int]":
        """For each sample its own place."""
        return array("I", range(len(self.is_kept)))


class _TextReader:
    """Reads the words of samples when they are asked for.

    Some are cached: the better one of many is asked for often.
    """

    def __init__(self, features: Features):
        self.handles = features.column("handle")
        self.pairs = features.column("pair")
        self.words = features.column("words")
        self.lengths: dict[int, bool] = {}  # of words, by their hash: whether they are more than a few
        self.cached: dict[int, Set[int]] = {}
        self.size = 0
        # Compiled once: the ORM takes ten times longer to compile it than SQLite to answer.
        rows = DatasetSample.objects.filter(signature=0).values_list(*signatures.SAMPLE_COLUMNS)
        self.query, _values = rows.query.sql_with_params()

    def grams_of(self, place: int) -> Set[int]:
        """The hashes of the grams of the sample at a place."""
        if place not in self.cached:
            if self.size > GRAMS_KEPT:
                self.cached, self.size = {}, 0
            self.cached[place] = frozenset(map(hash, build_grams(self._read_words(place))))
            self.size += len(self.cached[place])
        return self.cached[place]

    def is_long(self, place: int) -> bool:
        """Whether the sample at a place has more than SHORT words.

        It is computed once for all samples that have the same words.
        """
        number = self.words[place]
        if number not in self.lengths:
            if len(self.lengths) >= LENGTHS_KEPT:
                self.lengths.clear()
            self.lengths[number] = len(self._read_words(place)) > SHORT
        return self.lengths[number]

    def _read_words(self, place):
        """The words of one sample; empty for one that was removed or edited since."""
        for row in statements.read_rows(DEFAULT_DB_ALIAS, self.query, [self.handles[place]]):
            prompt, reply = signatures.read_pair(read_sample(dict(zip(signatures.SAMPLE_COLUMNS, row, strict=True))))
            if int.from_bytes(compute_identity(prompt, reply)[:8]) == self.pairs[place]:
                return split_words(prompt, reply)
        return []


def fill_sides(weights: Sequence[int], shares: Sequence[float]) -> bytes:
    """The number of the side of each of some sets: the first ones fill the first side, and so on.

    `weights` are the samples of the sets, at least one each. A side ends where it comes nearest to its share, and none
    with a share is empty while there are sets enough; of fewer sets each is on a side of its own, the largest first.
    Where one set has more than half of all, the last ones are the first if that comes nearer to the shares.
    """
    ways = [_fill_in_order(weights, shares)]
    if weights and 2 * max(weights) > sum(weights):
        ways.append(_fill_in_order(weights[::-1], shares)[::-1])
    return min(ways, key=lambda sides: _miss_shares(sides, weights, shares))


def _miss_shares(sides, weights, shares):
    """How many samples are on other sides than the shares ask for, counted twice."""
    filled = Counter[int]()
    for side, weight in zip(sides, weights, strict=True):
        filled[side] += weight
    return sum(abs(filled[side] - share * sum(weights)) for side, share in enumerate(shares))


def _fill_in_order(weights, shares):
    sides = [side for side, share in enumerate(shares) if share > ROUNDING]
    if len(weights) < len(sides):
        sides = sorted(sorted(sides, key=lambda side: -shares[side])[: len(weights)])
    sums, filled, share = array("Q", accumulate(weights)), bytearray(), 0.0
    for rest, side in zip(reversed(range(len(sides))), sides, strict=True):  # `rest`: sides after this one
        share += shares[side]
        target = share * sums[-1]
        end = bisect_left(sums, target)
        if end < len(sums) and (end == 0 or sums[end] - target <= target - sums[end - 1]):
            end += 1  # its set brings the side nearer to its share
        end = max(len(filled) + 1, min(end, len(weights) - rest)) if rest else len(weights)
        filled.extend([side] * (end - len(filled)))
    return bytes(filled)


def _choose_sides(groups, order, weights, shares):
    """The sides of the sets in `order`. Where some have a side, each other gets the one that lacks most."""
    sides = array("b", map(groups.sides.find_side, order))
    if all(side == NO_SIDE for side in sides):
        return fill_sides([weights[of_set] for of_set in order], shares)
    lacking = [share * sum(weights.values()) if share > ROUNDING else float("-inf") for share in shares]
    for of_set, side in zip(order, sides, strict=True):
        if side != NO_SIDE:
            lacking[side] -= weights[of_set]
    for number, of_set in enumerate(order):
        if sides[number] == NO_SIDE:
            sides[number] = lacking.index(max(lacking))
            lacking[sides[number]] -= weights[of_set]
    return sides


def _build_plan(features, groups, seed, shares, reasons):
    sessions, pairs, keys = (features.column(name) for name in ("session", "pair", "key"))
    smallest_keys = array("Q", [MAX_UINT64]) * features.session_count
    seed_number = int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest()[:8])
    for place in compress(range(len(keys)), groups.is_kept):
        session = sessions[place]
        smallest_keys[session] = min(smallest_keys[session], mix_bits(pairs[place] ^ seed_number))
    weights = Counter(map(groups.set_of, compress(range(len(keys)), groups.is_kept)))
    smallest_keys = groups.sets.smallest(smallest_keys)
    # The minimum of many numbers is small, so it is spread evenly again.
    order = sort_places(array("I", sorted(weights)), lambda of_set: mix_bits(smallest_keys[of_set]))
    sides = bytearray(max(groups.sides.find_side(session), 0) for session in range(features.session_count))
    for of_set, side in zip(order, _choose_sides(groups, order, weights, shares), strict=True):
        sides[of_set] = side
    fates = bytearray(sides[groups.sets.find_set(session)] for session in sessions)
    taught, taught_on = find_taught(features.column("words"), bytes(fates[place] for place in groups.teachers()))
    for place, reason in enumerate(reasons):
        fates[place] += reason
    sizes = Counter(compress(sessions, groups.is_kept))
    order = sort_places(range(len(keys)), keys.__getitem__)
    return SplitPlan(
        array("q", (keys[place] for place in order)),
        bytes(fates[place] for place in order),
        taught,
        taught_on,
        samples=sum(groups.is_kept),
        largest_set=max(weights.values(), default=0),
        session_sizes=array("I", (sizes[sessions[place]] for place in order)),
    )


def find_taught(words: "array[int]", sides: bytes) -> tuple["array[int]", bytes]:
    """Every hash of words with the sides that teach them, as bits.

    Both are empty when there is one side only.
    """
    numbers, taught_on = array("Q"), bytearray()
    if len(set(sides)) < 2:
        return numbers, b""
    for number, places in groupby(sort_places(range(len(words)), words.__getitem__), words.__getitem__):
        numbers.append(number)
        taught_on.append(sum(1 << side for side in {sides[place] for place in places}))
    return numbers, bytes(taught_on)
