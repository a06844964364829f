"""What is different from the export before, of the same format and task: which rows are new, gone, or not the same.

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
TOO_BIG, MISSING, NO_IDS = PROBLEMS = ("too_big", "missing", "no_ids")
KEY = b'"sample_id":'  # within a text its quotes would have a backslash before them
OWN_KEY = b'{"id":'  # of samples as they are stored
TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
Known = dict[bytes, tuple[str, int]]  # side and hash of the line, by sample as JSON


def store_difference(export: DatasetExport) -> None:
    """Store where rows begin in the file of a ready export, and what is different from the one before it."""
    before = find_export_before(export)
    is_compared = before is not None and _is_small(export, before)
    found: dict[str, Any] = {"to": before.id} if before else {}
    places = RowOffsets()
    try:
        known = _known(export, is_kept=is_compared, places=places)
        if before and is_compared:
            found |= _difference(_known(before, is_kept=True), known)
        elif before:
            found["problem"] = TOO_BIG
    except (OSError, Refused, ValueError):  # ValueError: a sample's id that is no text of JSON
        found["problem"] = MISSING
    values = {"difference_json": encode(found), "places_json": encode(places.as_json())}
    DatasetExport.objects.filter(id=export.id).update(**values)


def find_export_before(export: DatasetExport) -> DatasetExport | None:
    """The newest ready export of the same format and task that is older, whoever asked for it."""
    same = {"export_format": export.export_format, "task": export.task, "state": DatasetExport.State.READY}
    older = DatasetExport.objects.filter(**same, exported_at__lte=export.exported_at).exclude(id=export.id)
    return older.order_by("-exported_at", "-id").first()


def _is_small(*both):
    files = [file for export in both for file in find_row_files(export).values()]
    is_few = sum(file["rows"] for file in files) <= MOST_ROWS
    return is_few and sum(file["bytes"] for file in files) <= MOST_BYTES


def _known(export, *, is_kept, places=None) -> Known:
    """Every row of an export by its sample, nothing unless `is_kept`. Where they are in its files goes to `places`."""
    known: Known = {}
    files = find_row_files(export)
    for number, (side, file) in enumerate(files.items()):
        noted = places if number == 0 else None  # the side that the page shows
        if not is_kept and noted is None:
            continue
        for sample, line in _rows(export, side, file["name"], noted):
            if is_kept:
                known[sample] = (side, hash(line))
    return known


def _rows(export, side, name, places):
    """(sample as JSON, line) of every row of a file."""
    folder = exports.folder_of(export)
    named = find_sources_file(export, side)
    about = read_rows(folder / named) if named else None
    for number, offset, line in read_rows(folder / name):
        source = next(about, None) if about else None
        if places:
            places.see(number, offset, source[1] if source else None)
        yield _sample_of(source[2] if source else line, export.export_format), line


def _sample_of(line, kind):
    if kind == "csv":
        return orjson.dumps(Line(0, line, is_csv=True).row["sample_id"])
    _before, _key, rest = line.partition(OWN_KEY if kind == "raw" else KEY)
    text = TEXT.match(rest)
    return text[0] if text else b""


def _difference(before: Known, now: Known) -> dict[str, Any]:
    if b"" in before or b"" in now:
        return {"problem": NO_IDS}
    both = before.keys() & now.keys()
    kinds = {
        "added": now.keys() - before.keys(),
        "removed": before.keys() - now.keys(),
        "changed": {sample for sample in both if before[sample][1] != now[sample][1]},
        "moved": {sample for sample in both if before[sample][0] != now[sample][0]},
    }
    found = {name: {"count": len(ids), "samples": _first(ids)} for name, ids in kinds.items()}
    return {**found, "same": len(both - kinds["changed"] - kinds["moved"])}


def _first(ids):
    found = (orjson.loads(sample) for sample in sorted(ids)[:LISTED])
    return [sample for sample in found if isinstance(sample, str)]
