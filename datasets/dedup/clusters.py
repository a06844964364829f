"""Which of many texts are alike: those that share a band of their signatures are compared, word by word.

32 bands of four numbers miss one pair in 20 million whose Jaccard is 0.8, and none that is much above. What they find
without reason is told by the whole signatures, and what is left by the texts: no pair is called alike that is not.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import combinations
from typing import Protocol

from .minhash import BYTES, NUMBERS
from .signature_file import BAND_BYTES, BANDS, SignatureFile
from .texts import ALIKE, jaccard

# Equal numbers of 128 from which the texts are read: of pairs whose Jaccard is 0.8, one in a million has fewer.
LEAST = 80
SMALL = 32  # texts: of as many, or fewer, that share a band every pair is looked at
SIGNATURES_AT_ONCE = 4_096  # of texts that share a band: 2 MB
UPPER = sum(1 << (32 * place + 31) for place in range(NUMBERS))  # the highest bit of each number
LOWER = UPPER - (UPPER >> 31)  # all bits below it
NO_DIFFERENCE = bytes(BAND_BYTES)
GramsOf = Callable[[int], Set[int]]


class Groups(Protocol):
    """What is known so far of who is alike."""

    def is_worth(self, one: int, other: int) -> bool:
        """Whether it is not known yet, and matters, whether they are alike."""

    def still_open(self, places: list[int]) -> list[int]:
        """Those of these between which something is left to find out."""

    def join(self, place: int, others: list[int]) -> None:
        """These are like the one."""


def join_similar(numbers: SignatureFile, order: Sequence[int], grams_of: GramsOf, groups: Groups) -> None:
    """Tell `groups` of everything that is alike among the places of `order`, the better ones first.

    `grams_of` gives the grams of the text at a place.
    """
    numbers.complete()
    for band in range(BANDS):
        small: dict[int, list[list[int]]] = {}
        for places in _sharing(numbers, band, order):
            if len(places) <= SMALL:
                small.setdefault(len(places), []).append(places)
            else:
                _compare_with_best(numbers, band, places, grams_of, groups)
        for buckets_of_size in small.values():
            for places in buckets_of_size:
                _compare_pairs(numbers, band, places, grams_of, groups)


def find_buckets(keys: Sequence[int], order: Sequence[int]) -> Iterator[list[int]]:
    """The places of `order` that share a key, in that order; those that share theirs with none are in no bucket."""
    seen: set[int] = set()
    note = seen.add
    repeated = {key for key in map(keys.__getitem__, order) if key in seen or note(key)}
    del seen
    sharing: dict[int, list[int]] = {}
    for place in order if repeated else ():
        if (key := keys[place]) in repeated:
            sharing.setdefault(key, []).append(place)
    for key in sorted(sharing):
        yield sharing[key]


def _sharing(numbers, band, order):
    """The places of `order` that share a band. Few share half of it: only theirs are read one by one."""
    sharing: dict[int, list[int]] = {}
    for places in find_buckets(numbers.halves(band), order):
        for place in places:
            sharing.setdefault(numbers.key(place, band), []).append(place)
    for key in sorted(sharing):
        if len(sharing[key]) > 1:
            yield sharing[key]


def _compare_pairs(numbers, band, places, grams_of, groups):
    """Every pair of these places, in their order."""
    signatures: dict[int, int] = {}
    for one, other in combinations(places, 2):
        if groups.is_worth(one, other):
            for place in {one, other} - signatures.keys():
                signatures[place] = numbers.signature(place)
            if _is_likely(signatures[one], signatures[other], band):
                _compare_texts(one, other, grams_of(one), grams_of, groups)


def _compare_with_best(numbers, band, places, grams_of, groups):
    """Many that share a band: the best with all others, then the best of those that are left."""
    is_kept = len(places) <= SIGNATURES_AT_ONCE
    signature = {place: numbers.signature(place) for place in places}.__getitem__ if is_kept else numbers.signature
    left = groups.still_open(places)
    while len(left) > 1:
        best, *left = left
        own, grams = signature(best), grams_of(best)
        for other in left:
            if groups.is_worth(best, other) and _is_likely(own, signature(other), band):
                _compare_texts(best, other, grams, grams_of, groups)
        left = groups.still_open(left)


def _compare_texts(one, other, grams, grams_of, groups):
    if jaccard(grams, grams_of(other)) >= ALIKE:
        groups.join(one, [other])


def _is_likely(one, other, band):
    """Whether two signatures are much the same, and no earlier band has brought them together."""
    difference = one ^ other
    # The highest bit of each number that differs: it is set, or a bit below it carries into it.
    different = (((difference & LOWER) + LOWER) | difference) & UPPER
    if NUMBERS - different.bit_count() < LEAST:
        return False
    data = difference.to_bytes(BYTES, "little")
    return all(data[start : start + BAND_BYTES] != NO_DIFFERENCE for start in range(0, band * BAND_BYTES, BAND_BYTES))
