"""Reads the rows in the files of an export, and finds the difference between two exports.

It knows which files these are, where each row begins, and which sample the row is about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.utils.translation import gettext as _

from openclaw_web import spreadsheets
from openclaw_web.errors import Refused
from openclaw_web.sqlite.json_columns import encode

from ..models import DatasetExport
from . import exports
from .files import build_head
from .formats import TABLE_COLUMNS
from .plan import SIDES
from .verification import LONGEST_LINE

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
    named = {
        file["name"].split(".")[-2]: file  # `train` or `test`, or `sources`
        for file in export.manifest.get("files", [])
        if "rows" in file and Path(file["name"]).suffix != ".parquet"
    }
    return {side: named[side] for side in SIDES if side in named}


def find_sources_file(export: DatasetExport, side: str) -> str:
    """The name of a side's file of sources; empty where rows need none."""
    files = export.manifest.get("files", [])
    return next((file["name"] for file in files if f".{side}.sources." in file["name"]), "")


def is_csv_file(path: Path | str) -> bool:
    """Whether rows are lines of CSV, of which texts may have more than one."""
    return Path(path).suffix == ".csv"


def find_first_offset(path: Path | str) -> int:
    """The offset of the first row of a file."""
    return len(build_head("csv", TABLE_COLUMNS)) if is_csv_file(path) else 0


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
    offset, number, is_table = find_first_offset(path), 0, is_csv_file(path)
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


def _parse_object(data):
    try:
        row = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def _parse_cells(data):
    try:
        [cells] = spreadsheets.read_rows(data.splitlines(keepends=True))
        return dict(zip(TABLE_COLUMNS, cells, strict=True))
    except ValueError:
        return None


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
        files = find_row_files(export)
        self.side = next(iter(files), "")
        self.file: dict[str, Any] = files.get(self.side, {})
        self.sources = find_sources_file(export, self.side)

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
            raise build_changed_error()
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
        first = [find_first_offset(self.file["name"])]
        return noted.get("every", 1), noted.get("offsets", first), noted.get("sources", [0])

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as exc:
            raise Refused(_("The file of this export cannot be opened, so its rows cannot be shown.")) from exc

    def _read_line(self, file, number):
        """Read a row, from the nearest stored offset before it."""
        every, offsets, _sources = self._stored_offsets
        is_csv = is_csv_file(self.path)
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
        line = read_row(file, LONGEST, is_csv=is_csv)
        if len(line) == LONGEST or file.tell() > end:
            raise Refused(_("This row is too long to show, or too far into the file. Download the file to read it."))
        if not line.endswith(b"\n"):
            raise build_changed_error()
        return line


MOST_ROWS, MOST_BYTES = 200_000, 2_000_000_000  # of both exports together
LISTED = 20
KINDS = ("added", "removed", "changed", "moved")
TOO_BIG, MISSING, NO_IDS, NO_LINES = ("too_big", "missing", "no_ids", "no_lines")
KEY = b'"sample_id":'  # within a text, its quotes would be escaped
OWN_KEY = b'{"id":'  # of samples as they are stored
TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
Known = dict[bytes, tuple[str, int]]  # side and hash of the line, by sample as JSON


def store_difference(export: DatasetExport) -> None:
    """Store the row offsets of a ready export, and its difference from the one before."""
    before = find_export_before(export)
    is_compared = before is not None and _is_small(export, before)
    difference: dict[str, Any] = {"to": before.id} if before else {}
    if before and not find_row_files(export):
        is_compared, difference["problem"] = False, NO_LINES
    row_offsets = RowOffsets()
    try:
        known = _read_known(export, is_kept=is_compared, places=row_offsets)
        if before and is_compared:
            difference |= _compare(_read_known(before, is_kept=True), known)
        elif before:
            difference.setdefault("problem", TOO_BIG)
    except (OSError, Refused, ValueError):  # ValueError: a sample's id that is no text of JSON
        difference["problem"] = MISSING
    values = {"difference_json": encode(difference), "places_json": encode(row_offsets.as_json())}
    DatasetExport.objects.filter(id=export.id).update(**values)


def find_export_before(export: DatasetExport) -> DatasetExport | None:
    """The newest older export that is ready and has the same format and task.

    Anybody may have created it.
    """
    same = {"export_format": export.export_format, "task": export.task, "state": DatasetExport.State.READY}
    older = DatasetExport.objects.filter(**same, exported_at__lte=export.exported_at).exclude(id=export.id)
    return older.order_by("-exported_at", "-id").first()


def _is_small(*pair):
    files = [file for export in pair for file in find_row_files(export).values()]
    is_few = sum(file["rows"] for file in files) <= MOST_ROWS
    return is_few and sum(file["bytes"] for file in files) <= MOST_BYTES


def _read_known(export, *, is_kept, places=None) -> Known:
    """The rows of an export by sample, empty unless `is_kept`.

    The offsets of the rows in its files go to `places`.
    """
    known: Known = {}
    files = find_row_files(export)
    for number, (side, file) in enumerate(files.items()):
        side_places = places if number == 0 else None  # the only side whose rows the page shows
        if not is_kept and side_places is None:
            continue
        for sample, line in _read_rows(export, side, file["name"], side_places):
            if is_kept:
                known[sample] = (side, hash(line))
    return known


def _read_rows(export, side, name, places):
    """(sample as JSON, line) of every row of a file."""
    folder = exports.folder_of(export)
    sources_name = find_sources_file(export, side)
    source_rows = read_rows(folder / sources_name) if sources_name else None
    for number, offset, line in read_rows(folder / name):
        source = next(source_rows, None) if source_rows else None
        if places:
            places.add_row(number, offset, source[1] if source else None)
        yield _find_sample(source[2] if source else line, export.export_format), line


def _find_sample(line, kind):
    if kind == "csv":
        return orjson.dumps(Line(0, line, is_csv=True).row["sample_id"])
    _before, _key, rest = line.partition(OWN_KEY if kind == "raw" else KEY)
    text = TEXT.match(rest)
    return text[0] if text else b""


def _compare(before: Known, now: Known) -> dict[str, Any]:
    if b"" in before or b"" in now:
        return {"problem": NO_IDS}
    in_both = before.keys() & now.keys()
    kinds = {
        "added": now.keys() - before.keys(),
        "removed": before.keys() - now.keys(),
        "changed": {sample for sample in in_both if before[sample][1] != now[sample][1]},
        "moved": {sample for sample in in_both if before[sample][0] != now[sample][0]},
    }
    groups = {name: {"count": len(ids), "samples": _list_first(ids)} for name, ids in kinds.items()}
    return {**groups, "same": len(in_both - kinds["changed"] - kinds["moved"])}


def _list_first(ids):
    samples = (orjson.loads(sample) for sample in sorted(ids)[:LISTED])
    return [sample for sample in samples if isinstance(sample, str)]
