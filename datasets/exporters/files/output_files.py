"""Files that are complete or not there: written once, hashed on the way, on the disk before anybody may see them."""

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


# What pyarrow's JSON reader takes for a moment; wider than it where in doubt.
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII)


LONGEST = 35


class DateColumns:
    """Watches the rows of one file go by; says which columns hold nothing but dates in a piece of it."""

    def __init__(self, columns: tuple[str, ...]):
        self.columns = columns
        self.found: set[str] = set()
        self._suspects = set(columns)
        self._bytes = 0

    def add_row(self, row: dict[str, object], length: int) -> None:
        """Take note of a row whose line has `length` bytes."""
        if self._bytes > PIECE:
            self.end()
        self._bytes += length
        if self._suspects:
            self._suspects = {name for name in self._suspects if all(map(_is_date, _texts(row[name])))}

    def end(self) -> None:
        """The file, or a piece of it, is complete."""
        if self._bytes:
            self.found |= self._suspects
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
        """Without `rows` where a file has none."""
        facts: dict[str, Any] = {"name": self.name, "bytes": self.bytes, "sha256": self.sha256}
        return facts if self.rows is None else {**facts, "rows": self.rows}


class RowFile:
    """One file of rows under way. Hashing and writing happen beside the making of the next rows.

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
        """Put everything on the disk; what the file is now."""
        self.dates.end()
        self._hand_over()
        self._wait()
        os.fsync(self._file.fileno())
        self.close()
        return FileFacts(self.path.name, self.bytes, self._hash.hexdigest(), self.rows)

    def close(self) -> None:
        """Stop writing, whatever is missing."""
        self._writer.shutdown()
        self._file.close()

    def _hand_over(self):
        self._wait()
        self._written = self._writer.submit(self._write, b"".join(self._lines))
        self._lines, self._length = [], 0

    def _wait(self):
        """Until what was handed over is written; raises what went wrong with it, such as a full disk."""
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
