"""Rows and lines in bounded batches: an agent decides how many a file has, and how long they are."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

AT_ONCE = 100  # rows, or what was read of them
HELD = 8 * 1024 * 1024  # bytes of them
Item = TypeVar("Item")


def split_batches(items: Iterable[Item], weigh: Callable[[Item], int], most: int = AT_ONCE) -> Iterator[list[Item]]:
    """The items in lists of `most` at most, and of HELD bytes unless one alone has more."""
    batch: list[Item] = []
    held = 0
    for item in items:
        batch.append(item)
        held += weigh(item)
        if len(batch) >= most or held >= HELD:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def count_row_bytes(row: Iterable[object]) -> int:
    """How many bytes the texts of a row have."""
    return sum(len(value) for value in row if isinstance(value, bytes | str))
