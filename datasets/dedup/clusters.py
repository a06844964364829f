"""Finds similar texts: those that share a band of their signatures are compared.

32 bands of four numbers miss one pair in 20 million whose Jaccard is 0.8, and none that is much above. Pairs that share
a band by chance are excluded by the whole signatures, and the rest by the texts: no pair counts as similar that is not.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from itertools import chain, combinations
from typing import Protocol

from .minhash import BYTES, NUMBERS
from .places import find_buckets
from .signature_file import BAND_BYTES, BANDS, SignatureFile
from .texts import ALIKE, jaccard

# Equal numbers of 128 from which the texts are read: of pairs whose Jaccard is 0.8, one in a million has fewer.
LEAST = 80
SMALL = 32  # texts: when at most as many share a band, every pair is compared
SIGNATURES_AT_ONCE = 4_096  # of texts that share a band: 2 MB
UPPER = sum(1 << (32 * place + 31) for place in range(NUMBERS))  # the highest bit of each number
LOWER = UPPER - (UPPER >> 31)  # all bits below it
NO_DIFFERENCE = bytes(BAND_BYTES)
GramsOf = Callable[[int], Set[int]]


class Groups(Protocol):
    """The groups of similar texts that were found so far."""

    def is_worth(self, place: int, other: int) -> bool:
        """Whether a comparison of the two is still open, and matters."""

    def still_open(self, places: list[int]) -> list[int]:
        """The places among these with comparisons that are still open."""

    def join(self, place: int, others: list[int]) -> None:
        """Note that `others` are similar to the text at `place`."""


def join_similar(numbers: SignatureFile, order: Sequence[int], grams_of: GramsOf, groups: Groups) -> None:
    """Join in `groups` all similar texts at the places of `order`, the better ones first.

    `grams_of` gives the grams of the text at a place.
    """
    numbers.complete()
    for band in range(BANDS):
        small: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))  # places, one bucket after another
        for places in _find_sharing(numbers, band, order):
            if len(places) <= SMALL:
                small[len(places)].extend(places)
            else:
                _compare_with_best(numbers, band, places, grams_of, groups)
        for size, buckets in small.items():
            for start in range(0, len(buckets), size):
                _compare_pairs(numbers, band, buckets[start : start + size], grams_of, groups)


def _find_sharing(numbers, band, order):
    """Yield the places of `order` that share a band.

    Few places share half of a band: only the bands of those are read one by one.
    """
    places = array("I", chain.from_iterable(find_buckets(numbers.halves(band), order)))
    keys = array("Q", (numbers.key(place, band) for place in places))
    for indexes in find_buckets(keys, range(len(places))):
        yield [places[index] for index in indexes]


def _compare_pairs(numbers, band, places, grams_of, groups):
    """Compare every pair of these places, in their order."""
    signatures: dict[int, int] = {}
    for first, second in combinations(places, 2):
        if groups.is_worth(first, second):
            for place in {first, second} - signatures.keys():
                signatures[place] = numbers.signature(place)
            if _is_likely(signatures[first], signatures[second], band):
                _compare_texts(first, second, grams_of(first), grams_of, groups)


def _compare_with_best(numbers, band, places, grams_of, groups):
    """Compare the best of many places with all others, then the best of the rest."""
    is_kept = len(places) <= SIGNATURES_AT_ONCE
    signature = {place: numbers.signature(place) for place in places}.__getitem__ if is_kept else numbers.signature
    open_places = groups.still_open(places)
    while len(open_places) > 1:
        best, *open_places = open_places
        own, grams = signature(best), grams_of(best)
        for other in open_places:
            if groups.is_worth(best, other) and _is_likely(own, signature(other), band):
                _compare_texts(best, other, grams, grams_of, groups)
        open_places = groups.still_open(open_places)


def _compare_texts(best, other, grams, grams_of, groups):
    if jaccard(grams, grams_of(other)) >= ALIKE:
        groups.join(best, [other])


def _is_likely(own, other, band):
    """Whether two signatures are nearly the same, and share no earlier band."""
    difference = own ^ other
    # The highest bit of each number that differs: it is set, or a bit below it carries into it.
    different = (((difference & LOWER) + LOWER) | difference) & UPPER
    if NUMBERS - different.bit_count() < LEAST:
        return False
    data = difference.to_bytes(BYTES, "little")
    return all(data[start : start + BAND_BYTES] != NO_DIFFERENCE for start in range(0, band * BAND_BYTES, BAND_BYTES))
