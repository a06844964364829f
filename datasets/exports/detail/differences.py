"""Compares an export with the one before it, of the same format and task.

The difference is the rows that are new, gone, or not the same.

When an export is ready, its rows and those of the one before are read once more, line by line, and compared by their
samples. Only the answer is kept, in the row of the export: files say nothing of other exports.
"""

import re
from typing import Any

import orjson

from openclaw_web.errors import Refused
from openclaw_web.sqlite.json_columns import encode

from ...models import DatasetExport
from .. import exports
from .lines import Line, find_row_files, find_sources_file, read_rows
from .rows import RowOffsets

MOST_ROWS, MOST_BYTES = 200_000, 2_000_000_000  # of both exports together
LISTED = 20
KINDS = ("added", "removed", "changed", "moved")
TOO_BIG, MISSING, NO_IDS, NO_LINES = PROBLEMS = ("too_big", "missing", "no_ids", "no_lines")
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
