"""Reads the rows in the files of an export.

It knows which files these are, where each row begins, and which sample the row is about.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.utils.translation import gettext as _

from openclaw_web import spreadsheets
from openclaw_web.errors import Refused

from ...exporters.files.lines import build_head
from ...exporters.formats import table
from ...models import DatasetExport
from ..builder.splits import SIDES
from ..verification import LONGEST_LINE

QUOTE = b'"'


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a file by its number, from 1.

    `source`: the line about the row in the file of sources, where there is one.
    """

    number: int
    data: bytes
    source: bytes = b""
    is_csv: bool = False

    @property
    def row(self) -> dict[str, Any]:
        """Its columns. Raises Refused when the line is no row any more."""
        row = _parse_cells(self.data) if self.is_csv else _parse_object(self.data)
        if row is None:
            raise build_changed_error()
        return row

    @property
    def source_columns(self) -> dict[str, Any]:
        """The columns that say where the row comes from, if the row has none itself."""
        return (_parse_object(self.source) or {}) if self.source else {}


def find_row_files(export: DatasetExport) -> dict[str, dict[str, Any]]:
    """The files with rows of a ready export by their side.

    They are those of its manifest; none where rows are no lines."""
    files = export.manifest.get("files", [])
    named = {_find_side(file): file for file in files if "rows" in file and _has_lines(file)}
    return {side: named[side] for side in SIDES if side in named}


def find_sources_file(export: DatasetExport, side: str) -> str:
    """The name of a side's file of sources; empty where rows need none."""
    files = export.manifest.get("files", [])
    return next((file["name"] for file in files if f".{side}.sources." in file["name"]), "")


def is_csv(path: Path | str) -> bool:
    """Whether rows are lines of CSV, of which texts may have more than one."""
    return Path(path).suffix == ".csv"


def find_first_offset(path: Path | str) -> int:
    """The offset of the first row of a file."""
    return len(build_head("csv", table.COLUMNS)) if is_csv(path) else 0


def read_row(file: BinaryIO, longest: int = -1, *, is_csv: bool = False) -> bytes:
    """The next row, or its first `longest` bytes."""
    line = file.readline(longest)
    if not is_csv or line.count(QUOTE) % 2 == 0:
        return line
    lines, length, is_open = [line], len(line), True
    while is_open and length != longest and (line := file.readline(longest - length if longest > 0 else -1)):
        lines.append(line)
        length += len(line)
        is_open = is_open != line.count(QUOTE) % 2  # a quote within a text is two
    return b"".join(lines)


def read_rows(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Read every row of a file in order: number from 0, offset, line."""
    offset, number, is_table = find_first_offset(path), 0, is_csv(path)
    with path.open("rb") as file:
        file.seek(offset)
        while line := read_row(file, LONGEST_LINE, is_csv=is_table):
            if len(line) == LONGEST_LINE:
                raise build_changed_error()
            yield number, offset, line
            offset += len(line)
            number += 1


def build_changed_error() -> Refused:
    """The refusal of a file that is not the one that was written."""
    return Refused(_("The file of this export has changed since it was written, so its rows cannot be shown."))


def _has_lines(file):
    """Whether rows are lines of text: those of Parquet are not."""
    return Path(file["name"]).suffix != ".parquet"


def _find_side(file):
    """`train` or `test`, or `sources`."""
    return file["name"].split(".")[-2]


def _parse_object(data):
    try:
        row = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def _parse_cells(data):
    try:
        [cells] = spreadsheets.read_rows(data.splitlines(keepends=True))
        return dict(zip(table.COLUMNS, cells, strict=True))
    except ValueError:
        return None
