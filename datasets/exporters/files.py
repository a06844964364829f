"""Files that are complete or not there: written once, hashed on the way, on the disk before anybody may see them."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from .dates import DateColumns

BUFFER = 1024 * 1024


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
    """One JSONL file under way."""

    def __init__(self, path: Path, columns: tuple[str, ...]):
        self.path = path
        self.rows = 0
        self.bytes = 0
        self.dates = DateColumns(columns)
        self._hash = hashlib.sha256()
        self._file = path.open("xb", buffering=BUFFER)

    def add(self, line: bytes, row: dict[str, Any]) -> None:
        """Append a row that has been checked."""
        self._file.write(line)
        self._hash.update(line)
        self.dates.see(row, len(line))
        self.rows += 1
        self.bytes += len(line)

    def finish(self) -> FileFacts:
        """Put everything on the disk; what the file is now."""
        self.dates.end()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return FileFacts(self.path.name, self.bytes, self._hash.hexdigest(), self.rows)

    def close(self) -> None:
        """Stop writing, whatever is missing."""
        self._file.close()


def write_json(path: Path, value: Any) -> FileFacts:
    """Write one JSON document."""
    data = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return FileFacts(path.name, len(data), hashlib.sha256(data).hexdigest())


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
