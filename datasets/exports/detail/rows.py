"""Reads rows of a ready export from its file, as it is on the disk now.

A page never reads a file from end to end: offsets that were stored when the export was built lead near every row, and
the rows after an offset are read up to a limit.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ...models import DatasetExport
from .. import exports
from . import lines
from .lines import Line

PLACES = 4_096  # noted in one file, at most
LONGEST = 8_000_000  # bytes of one row
WALKED = 32_000_000  # bytes between a noted place and a row
FIRST = SPREAD = 5


class RowOffsets:
    """Where rows of a file begin: every row, or every second, fourth, … of many."""

    def __init__(self) -> None:
        self.every = 1
        self.offsets: list[int] = []
        self.sources: list[int] = []

    def add_row(self, number: int, offset: int, source: int | None = None) -> None:
        """Add the row `number`, counted from 0.

        `source`: where the line about it begins in the file of sources.
        """
        if number % self.every == 0:
            self.offsets.append(offset)
            self.sources += [] if source is None else [source]
            if len(self.offsets) > PLACES:
                self.offsets, self.sources, self.every = self.offsets[::2], self.sources[::2], self.every * 2

    def as_json(self) -> dict[str, Any]:
        """The offsets as the export's row stores them."""
        noted = {"every": self.every, "offsets": self.offsets}
        return noted | {"sources": self.sources} if self.sources else noted


class ExportRows:
    """The rows of an export's training file, or of another side without one."""

    def __init__(self, export: DatasetExport):
        self.export = export
        files = lines.find_row_files(export)
        self.side = next(iter(files), "")
        self.file: dict[str, Any] = files.get(self.side, {})
        self.sources = lines.find_sources_file(export, self.side)

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.file.get("rows", 0)

    @cached_property
    def path(self) -> Path:
        """The file. Raises Refused when it is gone, or is not the one that was written."""
        path = exports.find_file(self.export, self.file["name"]) if self.file else None
        try:
            size = path.stat().st_size if path else None
        except OSError:
            size = None
        if path is None or size is None:
            raise Refused(_("The file of this export is missing, so its rows cannot be shown."))
        if size != self.file["bytes"]:
            raise lines.build_changed_error()
        return path

    def read_selection(self) -> list[Line]:
        """The first rows, and some others evenly from the rest.

        Raises Refused when they cannot be read.
        """
        numbers = list(range(1, min(FIRST, self.count) + 1))
        rest = self.count - len(numbers)
        numbers += [FIRST + 1 + rest * n // SPREAD + rest // (2 * SPREAD) for n in range(SPREAD)] if rest else []
        with self._open() as file:
            return [self._read_line(file, number) for number in dict.fromkeys(numbers)]

    def read_row(self, number: int) -> Line:
        """The row of this number.

        Raises Refused when there is none, or when it cannot be read.
        """
        if not 1 <= number <= self.count:
            raise Refused(_("There is no row %(number)s. Rows are numbered from 1 to %(last)s.")
                          % {"number": f"{number:,}", "last": f"{self.count:,}"})  # fmt: skip
        with self._open() as file:
            return self._read_line(file, number)

    @cached_property
    def _stored_offsets(self):
        """The stored offsets: their step in rows, offsets of rows, offsets of source lines."""
        noted = self.export.places
        first = [lines.find_first_offset(self.file["name"])]
        return noted.get("every", 1), noted.get("offsets", first), noted.get("sources", [0])

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as exc:
            raise Refused(_("The file of this export cannot be opened, so its rows cannot be shown.")) from exc

    def _read_line(self, file, number):
        """Read a row, from the nearest stored offset before it."""
        every, offsets, _sources = self._stored_offsets
        is_csv = lines.is_csv(self.path)
        data = self._read_from_offset(file, number, every, offsets, is_csv=is_csv)
        return Line(number, data, self._read_source(number), is_csv)

    def _read_source(self, number):
        """Read the line about a row; empty where it cannot be read."""
        path = exports.find_file(self.export, self.sources) if self.sources else None
        if path is None:
            return b""
        every, _offsets, sources = self._stored_offsets
        try:
            with path.open("rb") as file:
                return self._read_from_offset(file, number, every, sources)
        except (OSError, Refused):
            return b""

    def _read_from_offset(self, file, number, every, offsets, *, is_csv=False):
        place = min((number - 1) // every, len(offsets) - 1)
        file.seek(offsets[place])
        for _skipped in range(number - 1 - place * every):
            self._read_next(file, offsets[place] + WALKED, is_csv)
        return self._read_next(file, offsets[place] + WALKED, is_csv)

    def _read_next(self, file, end, is_csv):
        line = lines.read_row(file, LONGEST, is_csv=is_csv)
        if len(line) == LONGEST or file.tell() > end:
            raise Refused(_("This row is too long to show, or too far into the file. Download the file to read it."))
        if not line.endswith(b"\n"):
            raise lines.build_changed_error()
        return line
