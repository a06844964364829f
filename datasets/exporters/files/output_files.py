"""Writes files that are either complete or not there.

A file is written once, hashed on the way, and on the disk before anybody may see it.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..conversations.exchanges import Conversation

PIECE = 10 * 1024 * 1024


# Texts that pyarrow's JSON reader takes for a timestamp; wider than its own rule where in doubt.
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII)


LONGEST = 35


class DateColumns:
    """Finds the columns of a file that a loader would take for dates.

    HF `datasets` reads a file in pieces of 10 MiB and guesses the type of each column from its values: a column of
    texts that all look like `2026-01-31` becomes timestamps, and a trainer then finds no text in it.
    """

    def __init__(self, columns: tuple[str, ...]):
        self.columns = columns
        self.date_columns: set[str] = set()
        self._suspects = set(columns)
        self._bytes = 0

    def add_row(self, row: dict[str, object], length: int) -> None:
        """Add a row whose line has `length` bytes."""
        if self._bytes > PIECE:
            self.end()
        self._bytes += length
        if self._suspects:
            self._suspects = {name for name in self._suspects if all(map(_is_date, _texts(row[name])))}

    def end(self) -> None:
        """Finish the file, or a piece of it."""
        if self._bytes:
            self.date_columns |= self._suspects
        self._suspects, self._bytes = set(self.columns), 0


def _texts(value: object) -> Iterable[str]:
    return value.texts if isinstance(value, Conversation) else [str(value)]


def _is_date(text):
    return len(text) <= LONGEST and DATE.fullmatch(text) is not None


BUFFER = 256 * 1024


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A finished file, as the manifest has it."""

    name: str
    bytes: int
    sha256: str
    rows: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The facts for the manifest, without `rows` where a file has none."""
        facts: dict[str, Any] = {"name": self.name, "bytes": self.bytes, "sha256": self.sha256}
        return facts if self.rows is None else {**facts, "rows": self.rows}


class RowFile:
    """A file of rows that is being written.

    Hashing and writing run beside the building of the next rows.

    `columns` are watched for dates; `head` is what stands before the first row.
    """

    def __init__(self, path: Path, columns: tuple[str, ...] = (), head: bytes = b""):
        self.path = path
        self.rows = 0
        self.bytes = len(head)
        self.dates = DateColumns(columns)
        self._hash = hashlib.sha256()
        self._file = path.open("xb", buffering=0)
        self._lines: list[bytes] = [head]
        self._length = len(head)
        self._writer = ThreadPoolExecutor(1)
        self._written: Future[None] | None = None

    def add(self, line: bytes, row: dict[str, Any]) -> None:
        """Append a row that has been checked."""
        self.dates.add_row(row, len(line))
        self.rows += 1
        self.bytes += len(line)
        self._lines.append(line)
        self._length += len(line)
        if self._length >= BUFFER:
            self._hand_over()

    def finish(self) -> FileFacts:
        """Put everything on the disk, and return the facts of the file."""
        self.dates.end()
        self._hand_over()
        self._wait()
        os.fsync(self._file.fileno())
        self.close()
        return FileFacts(self.path.name, self.bytes, self._hash.hexdigest(), self.rows)

    def close(self) -> None:
        """Stop writing, even if rows are missing."""
        self._writer.shutdown()
        self._file.close()

    def _hand_over(self):
        self._wait()
        self._written = self._writer.submit(self._write, b"".join(self._lines))
        self._lines, self._length = [], 0

    def _wait(self):
        """Wait until the last data is written; raises its error, such as a full disk."""
        if self._written:
            self._written.result()

    def _write(self, data):
        self._hash.update(data)
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]


def write_text(path: Path, data: bytes) -> FileFacts:
    """Write one document."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return FileFacts(path.name, len(data), hashlib.sha256(data).hexdigest())
