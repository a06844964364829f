"""The rows of a ready export, read back from its file as it is on the disk now.

A file is never read from end to end for a page: places in it that were noted when the export was built lead near every
row, and what follows them is read up to a limit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ...models import DatasetExport
from .. import exports
from ..building.splits import SIDES

PLACES = 4_096  # noted in one file, at most
LONGEST = 8_000_000  # bytes of one row
WALKED = 32_000_000  # bytes between a noted place and a row
FIRST = SPREAD = 5
SOURCES = ".sources.jsonl"


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the file by its number, from 1."""

    number: int
    data: bytes

    @property
    def row(self) -> dict[str, Any]:
        """Its columns. Raises Refused when the line is no row any more."""
        try:
            row = orjson.loads(self.data)
        except orjson.JSONDecodeError as exc:
            raise changed() from exc
        if not isinstance(row, dict):
            raise changed()
        return row


class Places:
    """Where rows of a file begin: of every one at first, of every second, fourth, … when they become many."""

    def __init__(self) -> None:
        self.every = 1
        self.offsets: list[int] = []

    def see(self, number: int, offset: int) -> None:
        """Take note of the row `number`, counted from 0."""
        if number % self.every == 0:
            self.offsets.append(offset)
            if len(self.offsets) > PLACES:
                self.offsets, self.every = self.offsets[::2], self.every * 2

    def as_json(self) -> dict[str, Any]:
        """As the row of the export keeps them."""
        return {"every": self.every, "offsets": self.offsets}


class RowsOf:
    """The rows of the training file of an export, or of the other one where that was not written."""

    def __init__(self, export: DatasetExport):
        self.export = export
        files = {side_of(file): file for file in row_files(export)}
        self.side = next((side for side in SIDES if side in files), "")
        self.file: dict[str, Any] = files.get(self.side, {})

    @property
    def count(self) -> int:
        """How many there are."""
        return self.file.get("rows", 0)

    @cached_property
    def path(self) -> Path:
        """The file. Raises Refused when it is gone, or is not the one that was written."""
        if not has_lines(self.export):
            raise Refused(_("Rows of a CSV file are not shown here. Download the file to read them."))
        path = exports.file_of(self.export, self.file["name"]) if self.file else None
        try:
            size = path.stat().st_size if path else None
        except OSError:
            size = None
        if path is None or size is None:
            raise Refused(_("The file of this export is missing, so its rows cannot be shown."))
        if size != self.file["bytes"]:
            raise changed()
        return path

    def some(self) -> list[Line]:
        """The first rows, and as many others evenly from what follows. Raises Refused when they cannot be read."""
        numbers = list(range(1, min(FIRST, self.count) + 1))
        rest = self.count - len(numbers)
        numbers += [FIRST + 1 + rest * n // SPREAD + rest // (2 * SPREAD) for n in range(SPREAD)] if rest else []
        with self._opened() as file:
            return [self._line(file, number) for number in dict.fromkeys(numbers)]

    def one(self, number: int) -> Line:
        """The row of this number. Raises Refused when there is none, or when it cannot be read."""
        if not 1 <= number <= self.count:
            raise Refused(_("There is no row %(number)s. Rows are numbered from 1 to %(last)s.")
                          % {"number": f"{number:,}", "last": f"{self.count:,}"})  # fmt: skip
        with self._opened() as file:
            return self._line(file, number)

    @cached_property
    def _places(self):
        return orjson.loads(self.export.places_json or '{"every": 1, "offsets": [0]}')

    def _opened(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as exc:
            raise Refused(_("The file of this export cannot be opened, so its rows cannot be shown.")) from exc

    def _line(self, file, number):
        """The row, from the nearest noted place before it."""
        every, offsets = self._places["every"], self._places["offsets"]
        place = min((number - 1) // every, len(offsets) - 1)
        file.seek(offsets[place])
        for _skipped in range(number - 1 - place * every):
            self._next(file, offsets[place] + WALKED)
        return Line(number, self._next(file, offsets[place] + WALKED))

    def _next(self, file, end):
        line = file.readline(LONGEST)
        if len(line) == LONGEST or file.tell() > end:
            raise Refused(_("This row is too long to show, or too far into the file. Download the file to read it."))
        if not line.endswith(b"\n"):
            raise changed()
        return line


def row_files(export: DatasetExport) -> list[dict[str, Any]]:
    """The files with rows of a ready export, as its manifest has them; not those that say where rows come from."""
    files = exports.read_manifest(export).get("files", [])
    return [file for file in files if "rows" in file and not file["name"].endswith(SOURCES)]


def side_of(file: dict[str, Any]) -> str:
    """`train` or `test`: the side whose rows a file has."""
    return file["name"].split(".")[-2]


def has_lines(export: DatasetExport) -> bool:
    """Whether a row is a line: in CSV it may be several."""
    return export.export_format != DatasetExport.Format.CSV


def walked(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """(number from 0, offset, line) of every row of a file, one after the other."""
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file):
            yield number, offset, line
            offset += len(line)


def changed() -> Refused:
    """What to say of a file that is not the one that was written."""
    return Refused(_("The file of this export has changed since it was written, so its rows cannot be shown."))
