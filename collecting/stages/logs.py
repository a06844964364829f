"""Reads logs of the Reflection plugin by line. Agents can write anything into them."""

from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_BYTES = 64 * 1024 * 1024  # bytes of one log: some hundred thousand writes


def read_lines(file: BinaryIO, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of the first MAX_BYTES bytes with their offsets, from `offset` on.

    An incomplete last line is left for the next import.
    """
    while offset < MAX_BYTES and (line := file.readline(min(MAX_LINE_BYTES, MAX_BYTES - offset))):
        if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
            return  # the line is incomplete, or crosses the limit
        yield offset, line
        offset += len(line)
