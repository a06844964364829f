"""Plans an export: its duplicates, the samples it keeps, and each session's side."""

import hashlib
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, compress, groupby
from operator import eq
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS

from openclaw_web.sqlite import statements

from ..models import DatasetSample
from ..sample_texts import read_sample
from . import clusters, signatures
from .caps import NO_CAPS, Caps, apply_caps, read_row_tools
from .features import MAX_UINT64, Features, Row, mix_bits, read_features
from .fixed_sides import NO_SIDE, FixedSides
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
GRAMS_KEPT = 500_000  # hashes of grams: 4 MB
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
    sessions that have a side keep it, and no two sides have similar samples. `caps` leave out more; with a cap on
    duplicates, `duplicates` has no effect.
    """
    numbers = SignatureFile(folder)
    try:
        features = Features(numbers, fixed, read_row_tools if caps.tool else None)
        read_features(batches, features, report_progress)
        texts = _TextReader(features)
        kind = _KeepSome if caps.twins else _KeepOne if duplicates == ONE else _KeepAll
        groups = kind(features, texts, features.rank_places())
        # Join in `groups` the samples with the same words; of these, the best of each side stands for the others.
        is_compared = bytearray(features.column("has_numbers"))
        for places in find_buckets(features.column("words"), groups.order):
            for best, others in groups.plan_comparisons(places):
                for other in others:
                    groups.join(best, other)
            for place in set(places).difference({groups.side_of(place): place for place in reversed(places)}.values()):
                is_compared[place] = False
        order = array("I", (place for place in groups.order if is_compared[place]))
        clusters.join_similar(features.numbers, order, texts.grams_of, groups)
    finally:
        numbers.close()
    is_kept = groups.settle()
    return _build_plan(features, groups, seed, shares, is_kept, apply_caps(caps, features, groups, is_kept))


class _GroupBase:
    """Similar samples, and the sessions that share a side for them.

    `order`: all places, the better ones first. `sides` has the side of each session, or NO_SIDE; sessions with one name
    have the last of their sides. `marks` has for each sample bits of the sides that it would join.
    """

    def __init__(self, features: Features, texts: "_TextReader", order: "array[int]"):
        self.sessions = features.column("session")
        self.sets = SessionSets(features.column("name"))
        self.texts = texts
        self.order = order
        self.marks = bytearray(len(features))
        self.sides = features.column("fixed") or array("b", [NO_SIDE]) * features.session_count
        for session, side in enumerate(self.sides):
            of_set = self.sets.find_set(session)
            self.sides[of_set] = max(side, self.sides[of_set])
        self._extend_sides()

    @cached_property
    def ranks(self) -> "array[int]":
        """For each place its number in the order."""
        ranks = array("I", self.order)
        for rank, place in enumerate(self.order):
            ranks[place] = rank
        return ranks

    def set_of(self, place: int) -> int:
        """The set of sessions that a sample is in."""
        return self.sets.find_set(self.sessions[place])

    def side_of(self, place: int) -> int:
        """The side of a sample's session, or NO_SIDE."""
        return self.sides[self.sessions[place]]

    def are_together(self, place: int, other: int) -> bool:
        """Whether the sessions of two samples are on one side, whichever it will be."""
        return self.set_of(place) == self.set_of(other) or self.side_of(place) == self.side_of(other) != NO_SIDE

    def settle_sides(self) -> None:
        """Put each set without a side on the side that most of its samples would join; of equals the first."""
        votes = Counter[tuple[int, int]]()
        for place, mark in enumerate(self.marks):
            if mark and self.side_of(place) == NO_SIDE:
                votes.update((side, self.set_of(place)) for side in range(mark.bit_length()) if mark >> side & 1)
        for (side, of_set), _count in sorted(votes.items(), key=lambda item: (item[1], -item[0][0])):
            self.sides[of_set] = side
        self._extend_sides()

    def _extend_sides(self):
        for session in range(len(self.sides)):
            self.sides[session] = self.sides[self.sets.find_set(session)]


class _KeepOne(_GroupBase):
    """Leaves a sample out when a better one is similar to it, which may be left out itself.

    Sessions share a side when the best sample that is similar to one left out is in the other, unless that is short:
    “thank you” connects nobody.
    """

    def __init__(self, features: Features, texts: "_TextReader", order: "array[int]"):
        super().__init__(features, texts, order)
        # For each sample the best one that is similar to it; following them leads to one that is kept.
        self.winners = array("I", range(len(features)))

    def plan_comparisons(self, places: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        ranks, winners, others = self.ranks, self.winners, places
        for best in places:
            rank = ranks[best]
            others = [place for place in others if ranks[winners[place]] > rank]
            if not others:
                return
            yield best, others

    def join(self, place: int, other: int) -> None:
        self.winners[other] = min(place, self.winners[other], key=self.ranks.__getitem__)

    def joins(self, place: int) -> bool:
        """Whether a sample that is left out connects its session with that of the better one."""
        return self.texts.is_long(place)

    def settle(self) -> bytearray:
        """Choose the sides of sessions; return for each sample whether it is kept."""
        for place, winner in enumerate(self.winners):
            if self.set_of(place) != self.set_of(winner) and self.joins(place):
                side, other_side = self.side_of(place), self.side_of(winner)
                if side == other_side == NO_SIDE:
                    self.sets.join((self.sessions[place], self.sessions[winner]))
                elif side == NO_SIDE:
                    self.marks[place] |= 1 << other_side
                elif other_side == NO_SIDE:
                    self.marks[winner] |= 1 << side
        self.settle_sides()
        return bytearray(map(eq, self.winners, range(len(self.winners))))

    def teachers(self) -> "array[int]":
        """For each sample the place of the sample that is kept for it, mostly its own."""
        for place in self.order:
            self.winners[place] = self.winners[self.winners[place]]
        return self.winners


class _KeepSome(_KeepOne):
    """Groups samples as _KeepOne does, with all their sessions on one side: a cap keeps more than one of them."""

    def joins(self, place: int) -> bool:
        return True


class _KeepAll(_GroupBase):
    """Keeps all samples; sessions without a side that have similar samples are one set.

    A sample is left out when one that precedes it is similar and on another side. Samples of sessions that have a side
    from the start precede all others.
    """

    def __init__(self, features: Features, texts: "_TextReader", order: "array[int]"):
        super().__init__(features, texts, order)
        is_free = bytearray(self.side_of(place) == NO_SIDE for place in order)
        is_fixed = is_free.translate(bytes.maketrans(b"\0\1", b"\1\0"))
        self.order = array("I", compress(order, is_fixed)) + array("I", compress(order, is_free))
        for place in compress(order, is_fixed):
            self.marks[place] = 1 << self.side_of(place)

    def plan_comparisons(self, places: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        by_side = defaultdict(list)
        for place in places:
            by_side[self.side_of(place)].append(place)
        free = by_side.pop(NO_SIDE, [])
        for side, better_places in by_side.items():
            others = places
            for best in better_places:
                rank = self.ranks[best]
                others = [place for place in others if self.ranks[place] > rank and not self.marks[place] >> side & 1]
                if not others:
                    break
                yield best, others
        while len(set(map(self.set_of, free))) > 1:
            best, *free = free
            yield best, [place for place in free if self.set_of(place) != self.set_of(best)]

    def join(self, place: int, other: int) -> None:
        if self.side_of(place) == NO_SIDE:
            self.sets.join((self.sessions[place], self.sessions[other]))
        else:
            self.marks[other] |= 1 << self.side_of(place)

    def settle(self) -> bytearray:
        """Choose the sides of sessions; return for each sample whether it is kept."""
        self.settle_sides()
        return bytearray(not mark or mark == 1 << self.side_of(place) for place, mark in enumerate(self.marks))

    def teachers(self) -> "array[int]":
        """For each sample its own place."""
        return array("I", range(len(self.marks)))


class _TextReader:
    """Reads the words of samples when they are asked for.

    Some are cached: the better one of many is asked for often.
    """

    def __init__(self, features: Features):
        self.handles = features.column("handle")
        self.pairs = features.column("pair")
        self.words = features.column("words")
        self.lengths: dict[int, bool] = {}  # of words, by their hash: whether they are more than a few
        self.cached: dict[int, array[int]] = {}
        self.size = 0
        # Compiled once: the ORM takes ten times longer to compile it than SQLite to answer.
        rows = DatasetSample.objects.filter(signature=0).values_list(*signatures.SAMPLE_COLUMNS)
        self.query, _values = rows.query.sql_with_params()

    def grams_of(self, place: int) -> "array[int]":
        """The hashes of the grams of the sample at a place, each once."""
        if place not in self.cached:
            if self.size > GRAMS_KEPT:
                self.cached, self.size = {}, 0
            self.cached[place] = array("q", set(map(hash, build_grams(self._read_words(place)))))
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
    sides = array("b", (groups.sides[of_set] for of_set in order))
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


def _build_plan(features, groups, seed, shares, is_kept, reasons):
    sessions, pairs, keys = (features.column(name) for name in ("session", "pair", "key"))
    smallest_keys = array("Q", [MAX_UINT64]) * features.session_count
    seed_number = int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest()[:8])
    for place in compress(range(len(keys)), is_kept):
        session = sessions[place]
        smallest_keys[session] = min(smallest_keys[session], mix_bits(pairs[place] ^ seed_number))
    weights = Counter(map(groups.set_of, compress(range(len(keys)), is_kept)))
    smallest_keys = groups.sets.smallest(smallest_keys)
    # The minimum of many numbers is small, so it is spread evenly again.
    order = sort_places(array("I", sorted(weights)), lambda of_set: mix_bits(smallest_keys[of_set]))
    sides = bytearray(max(side, 0) for side in groups.sides)
    for of_set, side in zip(order, _choose_sides(groups, order, weights, shares), strict=True):
        sides[of_set] = side
    fates = bytearray(sides[groups.sets.find_set(session)] for session in sessions)
    taught, taught_on = find_taught(features.column("words"), bytes(fates[place] for place in groups.teachers()))
    for place, reason in enumerate(reasons):
        fates[place] += reason
    sizes = Counter(compress(sessions, is_kept))
    order = sort_places(range(len(keys)), keys.__getitem__)
    return SplitPlan(
        array("q", (keys[place] for place in order)),
        bytes(fates[place] for place in order),
        taught,
        taught_on,
        samples=sum(is_kept),
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
