"""Splits rows and lines into batches of bounded size.

An agent decides how many of them a file has, and how long they are.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

AT_ONCE = 100  # rows or objects in a batch
MAX_BYTES = 8 * 1024 * 1024  # bytes in a batch
Item = TypeVar("Item")


def split_batches(items: Iterable[Item], weigh: Callable[[Item], int], most: int = AT_ONCE) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `most` items and about MAX_BYTES.

    A list may be larger when a single item is. `weigh` returns the bytes of an item.
    """
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += weigh(item)
        if len(batch) >= most or size >= MAX_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def count_row_bytes(row: Iterable[object]) -> int:
    """Return how many bytes the texts of a row have."""
    return sum(len(value) for value in row if isinstance(value, bytes | str))
