"""Logs that the Reflection plugin keeps in workspaces, line by line: an agent may write there whatever it likes."""

import os
from collections.abc import Iterator
from typing import BinaryIO

MOST_LINE = 16 * 1024 * 1024
MOST = 64 * 1024 * 1024  # bytes of one log: some hundred thousand writes


def lines(file: BinaryIO, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """The lines of the first MOST bytes with their places, from where the file stands at `offset`.

    One that is still being written is left for next time.
    """
    while offset < MOST and (line := file.readline(min(MOST_LINE, MOST - offset))):
        if not line.endswith(b"\n") and len(line) < MOST_LINE:
            return  # or the limit is within it
        yield offset, line
        offset += len(line)


def is_whole(about: os.stat_result) -> bool:
    """Whether all of a log is read."""
    return about.st_size <= MOST
