"""Sorts and groups the places of samples in little memory.

Python's sorting and sets take some 100 bytes for each number: a part of the places has them at a time.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, groupby
from typing import Any

SORTED = 1 << 15  # places whose keys are in memory at a time: 8 MB
PART = 1 << 17  # numbers that a set holds at a time: 10 MB
PROBED = 64  # keys for each part, which say where the parts begin


def sort_places(places: Sequence[int], key: Callable[[int], Any]) -> "array[int]":
    """The places in the order of their keys, then of their numbers.

    `places` are in the order of their numbers.
    """
    count = len(places) // SORTED + 1
    if count == 1:
        return array("I", sorted(places, key=key))
    probed = sorted((key(place), place) for place in places[:: max(1, len(places) // (count * PROBED))])
    bounds = [probed[len(probed) * part // count] for part in range(1, count)]
    part_of = array("H", (bisect_right(bounds, (key(place), place)) for place in places))
    in_order = array("I")
    for part in range(count):
        in_order.extend(sorted(compress(places, map(part.__eq__, part_of)), key=key))
    return in_order


def find_buckets(keys: Sequence[int], order: Iterable[int]) -> Iterator[list[int]]:
    """Yield the places of `order` that share a key of 64 bits, in that order.

    Places that share their key with no other are in no bucket.
    """
    order = array("I", order)
    ordered = array("Q", map(keys.__getitem__, order))
    repeated = _find_repeated(ordered)
    shared = array("I", (index for index, key in enumerate(ordered) if key in repeated) if repeated else ())
    del repeated
    for _key, indexes in groupby(sort_places(shared, ordered.__getitem__), ordered.__getitem__):
        yield [order[index] for index in indexes]


def _find_repeated(keys):
    """The keys that are there more than once."""
    count = min(256, len(keys) // PART + 1)
    if count == 1:
        return _select_repeated(keys)
    low = keys.tobytes()[:: keys.itemsize]  # one byte of each key, by which keys are spread evenly
    is_in_part = (bytes(byte % count == part for byte in range(256)) for part in range(count))
    return set().union(*(_select_repeated(compress(keys, low.translate(table))) for table in is_in_part))


def _select_repeated(keys):
    seen: set[int] = set()
    note = seen.add
    return {key for key in keys if key in seen or note(key)}
