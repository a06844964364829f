"""Finds similar texts: those that share a band of their signatures are compared.

32 bands of four numbers miss one pair in 20 million whose Jaccard is 0.8, and none that is much above. Pairs that share
a band by chance are excluded by the whole signatures, and the rest by the texts: no pair counts as similar that is not.
"""

from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Protocol

from .minhash import BYTES, NUMBERS
from .places import find_buckets
from .signature_file import BAND_BYTES, BANDS, SignatureFile
from .texts import ALIKE, jaccard

# Equal numbers of 128 from which the texts are read: of pairs whose Jaccard is 0.8, one in a million has fewer.
LEAST = 80
SIGNATURES_CACHED = 4_096  # 2 MB
UPPER = sum(1 << (32 * place + 31) for place in range(NUMBERS))  # the highest bit of each number
LOWER = UPPER - (UPPER >> 31)  # all bits below it
NO_DIFFERENCE = bytes(BAND_BYTES)
GramsOf = Callable[[int], Collection[int]]


class Groups(Protocol):
    """Notes the pairs of similar texts that decide something.

    Once a pair decides nothing, it never does again: the result is the same whichever pairs are compared first.
    """

    def plan_comparisons(self, places: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield places of a bucket, the better ones first, each with worse ones whose similarity still decides."""

    def join(self, place: int, other: int) -> None:
        """Note that the text at `place` is similar to the worse one at `other`."""


def join_similar(numbers: SignatureFile, order: Sequence[int], grams_of: GramsOf, groups: Groups) -> None:
    """Join in `groups` all similar texts at the places of `order`, the better ones first.

    `grams_of` gives the grams of the text at a place.
    """
    numbers.complete()
    read_signature = lru_cache(SIGNATURES_CACHED)(numbers.signature)
    for band in range(BANDS):
        for places in _find_sharing(numbers, band, order):
            for best, others in groups.plan_comparisons(places):
                own, grams = read_signature(best), None
                for other in others:
                    if _is_likely(own, read_signature(other), band):
                        grams = grams or frozenset(grams_of(best))
                        if jaccard(grams, grams_of(other)) >= ALIKE:
                            groups.join(best, other)


def _find_sharing(numbers, band, order):
    """Yield the places of `order` that share a band.

    Few places share half of a band: only the bands of those are read one by one.
    """
    places = array("I", chain.from_iterable(find_buckets(numbers.halves(band), order)))
    keys = array("Q", (numbers.key(place, band) for place in places))
    for indexes in find_buckets(keys, range(len(places))):
        yield [places[index] for index in indexes]


def _is_likely(own, other, band):
    """Whether two signatures are nearly the same, and share no earlier band."""
    difference = own ^ other
    # The highest bit of each number that differs: it is set, or a bit below it carries into it.
    different = (((difference & LOWER) + LOWER) | difference) & UPPER
    if NUMBERS - different.bit_count() < LEAST:
        return False
    data = difference.to_bytes(BYTES, "little")
    return all(data[start : start + BAND_BYTES] != NO_DIFFERENCE for start in range(0, band * BAND_BYTES, BAND_BYTES))
