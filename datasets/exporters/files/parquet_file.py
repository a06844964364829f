"""Writes rows of `messages` as Parquet, with pyarrow: an extra, `pip install openclaw-web[parquet]`.

Parquet gives every message every key, with nulls where its role has none, and has one type for the arguments of all
calls: they are texts of JSON.
"""

import hashlib
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from .output_files import DateColumns, FileFacts

GROUP_ROWS, GROUP_BYTES = 1_000, 8_000_000  # of rows that are in memory together


def is_installed() -> bool:
    """Whether Parquet can be written here."""
    return find_spec("pyarrow") is not None


class ParquetFile:
    """A Parquet file of rows that is being written; it has the interface of output_files.RowFile.

    `columns`: the messages, then texts. `is_marked`: messages say whether to learn them.
    """

    def __init__(self, path: Path, columns: tuple[str, ...], *, is_marked: bool):
        self.path = path
        self.rows = 0
        self.dates = DateColumns(())  # the types of columns are written down: no loader guesses them
        self._arrow = import_module("pyarrow")
        self._schema = _build_schema(self._arrow, columns, is_marked=is_marked)
        self._file = path.open("xb")
        self._writer = import_module("pyarrow.parquet").ParquetWriter(self._file, self._schema)
        self._group: list[dict[str, Any]] = []
        self._length = 0

    def add(self, line: bytes, row: dict[str, Any]) -> None:
        """Append a row that has been checked, from its line of JSON."""
        self.rows += 1
        self._group.append(_flatten_row(orjson.loads(line)))
        self._length += len(line)
        if len(self._group) >= GROUP_ROWS or self._length >= GROUP_BYTES:
            self._write_group()

    def finish(self) -> FileFacts:
        """Put everything on the disk, and return the facts of the file."""
        self._write_group()
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileFacts(self.path.name, self.path.stat().st_size, digest, self.rows)

    def close(self) -> None:
        """Stop writing, even if rows are missing."""
        self._file.close()

    def _write_group(self):
        if self._group:
            self._writer.write_table(self._arrow.Table.from_pylist(self._group, schema=self._schema))
        self._group, self._length = [], 0


def _build_schema(arrow, columns, *, is_marked):
    text = arrow.string()
    function = arrow.struct([("name", text), ("arguments", text)])
    call = arrow.struct([("id", text), ("type", text), ("function", function)])
    keys = [
        ("role", text),
        ("content", text),
        ("name", text),
        ("tool_call_id", text),
        ("tool_calls", arrow.list_(call)),
    ]
    message = arrow.struct([*keys, *([("train", arrow.bool_())] if is_marked else [])])
    first, *others = columns
    return arrow.schema([(first, arrow.list_(message)), *((name, text) for name in others)])


def _flatten_row(row):
    """A row whose calls have their arguments as texts of JSON."""
    for message in row["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = orjson.dumps(call["function"]["arguments"]).decode()
    return row
