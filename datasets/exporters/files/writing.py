"""Files that are complete or not there: written once, hashed on the way, on the disk before anybody may see them."""

import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .dates import DateColumns

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
        self.dates.see(row, len(line))
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
