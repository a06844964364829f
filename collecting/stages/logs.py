"""Logs that the Reflection plugin keeps in workspaces, line by line: an agent may write there whatever it likes."""

import os
from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_BYTES = 64 * 1024 * 1024  # bytes of one log: some hundred thousand writes


def read_lines(file: BinaryIO, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """The lines of the first MOST bytes with their places, from where the file stands at `offset`.

    One that is still being written is left for next time.
    """
    while offset < MAX_BYTES and (line := file.readline(min(MAX_LINE_BYTES, MAX_BYTES - offset))):
        if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
            return  # or the limit is within it
        yield offset, line
        offset += len(line)


def is_within_limit(about: os.stat_result) -> bool:
    """Whether all of a log is read."""
    return about.st_size <= MAX_BYTES
