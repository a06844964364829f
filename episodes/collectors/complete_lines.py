"""Reads the complete lines of a growing JSONL file, each with its place."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from ledger.collectors.jsonl import MAX_LINE, Line, parse_line

TAIL_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class CompleteLine:
    """One line from byte `offset` up to `end`.

    `text` is the line without its end, `record` the object in it; None for a line without one.
    """

    offset: int
    end: int
    raw: bytes
    text: bytes
    record: dict[str, Any] | None
    is_rest: bool = False  # of a line that is too long

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


def read_complete_lines(file: BinaryIO, offset: int, end: int) -> Iterator[CompleteLine]:
    """Yield the lines that begin between two bytes, as far as each has its end.

    A line of more than 16 MiB comes in pieces without a record; `is_rest` are all but its first.
    """
    file.seek(offset)
    is_rest = False
    while (offset < end or is_rest) and (raw := file.readline(MAX_LINE)):
        is_whole = raw.endswith(b"\n")
        if not is_whole and len(raw) < MAX_LINE:
            return
        text, place = raw.rstrip(b"\r\n"), (offset, offset + len(raw))
        has_record = text.strip() and not is_rest and len(raw) < MAX_LINE
        record = parse_line(Line(*place, text.strip()), is_typed=False).record if has_record else None
        line = CompleteLine(*place, raw, text, record, is_rest)
        offset, is_rest = line.end, not is_whole
        yield line


def read_tail(file: BinaryIO, end: int) -> bytes:
    """Return the last bytes before a place in a file.

    A rewritten file has others. The place where the file is read next stays.
    """
    size = min(end, TAIL_BYTES)
    return os.pread(file.fileno(), size, end - size)
