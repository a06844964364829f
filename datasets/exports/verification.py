"""Compares the files of exports with what was written.

Every file is read again.
"""

import hashlib
import re
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from openclaw_web import amounts, spreadsheets
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite.integrity import DAMAGED, Check, find_file_problem

from ..models import DatasetExport
from . import words
from .exports import MANIFEST, Progress, folder_of, list_files
from .files import FileFacts, is_installed, read_parquet
from .rules import find_broken_rules


def _find_changed(_db, *, is_deep) -> Iterator[str]:
    """Files of finished exports that are gone, or of another size; `is_deep` reads them all."""
    exports = DatasetExport.objects.filter(state=DatasetExport.State.READY).order_by("exported_at", "id")
    for export in exports.iterator():
        files = list_files(export)
        if not files:
            yield _("%(file)s has different content") % {"file": f"{export.export_name}: {MANIFEST}"}
        for file in files:
            name = f"{export.export_name}: {export.file_path}/{file.name}"
            digest = file.sha256 if is_deep else ""
            if problem := find_file_problem(folder_of(export) / file.name, name, file.bytes, digest):
                yield problem


CHECKS = (
    Check(
        name="export_files",
        sentence=DAMAGED,
        noun="files",
        find=partial(_find_changed, is_deep=False),
        find_deep=partial(_find_changed, is_deep=True),
        advice=gettext_lazy("Run the export again to get its files."),
    ),
)


INTACT, CHANGED, MISSING, UNEXPECTED = "intact", "changed", "missing", "unexpected"
LISTED = 200  # files that nobody expects
LONGEST_LINE = 64 * 1024 * 1024  # bytes: a longer line is no row, and is not held in memory


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The state of a file in a comparison.

    `reason` says in a sentence what is wrong with a file that is not intact.
    """

    name: str
    state: str
    reason: str = ""


def verify(export: DatasetExport, progress: Progress) -> dict[str, Any]:
    """Compare every file of a ready export with what was written.

    The result has `files` with a state each, `is_intact`, and a `message`. `progress` counts bytes. Raises Refused for
    an export that has no files.
    """
    if export.state != DatasetExport.State.READY:
        raise Refused(describe_no_files())
    files = list_files(export)
    byte_progress = _ByteProgress(progress, sum(file.bytes for file in files))
    file_checks = [*(_check_file(export, file, byte_progress) for file in files), *_find_unexpected(export, files)]
    if not files:  # without a manifest, the files are unknown
        file_checks.append(FileCheck(MANIFEST, CHANGED, _("%(file)s has different content") % {"file": MANIFEST}))
    wrong = [file for file in file_checks if file.state != INTACT]
    return {
        "export_id": export.id,
        "name": export.export_name,
        "is_intact": not wrong,
        "files": [asdict(file) for file in file_checks],
        "message": _sentence(len(file_checks), wrong),
    }


def describe_no_files() -> str:
    """The sentence for an export that is not ready."""
    return _("This export has no files: it is not finished.")


class _ByteProgress:
    """Reports how many bytes were read."""

    def __init__(self, progress, total):
        self.progress, self.total, self.done = progress, total, 0
        progress.update(0, total, _("Reading files"))

    def add(self, count):
        self.done += count
        self.progress.update(min(self.done, self.total), self.total)


def _check_file(export, file, byte_progress):
    path = folder_of(export) / file.name
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return FileCheck(file.name, CHANGED, _("This is not a file any more."))
        if status.st_size != file.bytes:
            sizes = {
                "now": amounts.format_amount("bytes", status.st_size),
                "then": amounts.format_amount("bytes", file.bytes),
            }
            return FileCheck(file.name, CHANGED, _("%(now)s instead of %(then)s.") % sizes)
        # Compare a file of the right size, by its hash and its rows.
        digest = hashlib.sha256()
        with path.open("rb") as opened:
            lines = _read_lines(opened, digest, byte_progress)
            is_parquet = path.suffix == ".parquet"
            problem = _find_row_problem(export, file, lines) if file.rows is not None and not is_parquet else ""
            for _rest in lines:
                pass
        if digest.hexdigest() != file.sha256:
            return FileCheck(file.name, CHANGED, _("The content has a different SHA-256."))
        if is_parquet and is_installed():  # only bytes that we wrote are parsed
            problem = _find_row_problem(export, file, path)
        if file.name == MANIFEST and digest.hexdigest() != hashlib.sha256(export.manifest_json.encode()).hexdigest():
            problem = _("The copy of the manifest in the database is a different one.")
        return FileCheck(file.name, CHANGED if problem else INTACT, problem)
    except FileNotFoundError:
        return FileCheck(file.name, MISSING, _("The file was removed."))
    except OSError as exc:
        return FileCheck(file.name, CHANGED, _("The file cannot be read: %(why)s.") % {"why": exc.strerror})


def _read_lines(opened, digest, byte_progress) -> Iterator[bytes]:
    """The lines of a file, hashed on the way."""
    while line := opened.readline(LONGEST_LINE):
        digest.update(line)
        byte_progress.add(len(line))
        yield line


def _find_row_problem(export, file: FileFacts, lines: Any) -> str:
    """The problem of a file's rows as a sentence; empty when they are right.

    There must be as many as in the manifest, and none may break a rule.
    """
    rows, manifest = 0, export.manifest
    # Lines that say where rows come from are no rows.
    has_rules = re.fullmatch(rf"{re.escape(manifest['dataset'])}\.\w+\.\w+", file.name)
    for row in READERS.get(Path(file.name).suffix, _read_objects)(lines):
        rows += 1
        if row is None:
            return _("Row %(row)s cannot be read.") % {"row": f"{rows:,}"}
        if has_rules and (broken := find_broken_rules(export.export_format, row)):
            [first] = words.describe_broken_rows([{"id": "", "rule": broken[0].rule, "place": broken[0].place}])
            return _("Row %(row)s breaks a rule: %(why)s") % {"row": f"{rows:,}", "why": first["reason"]}
    counts = {"now": amounts.format_amount("rows", rows), "then": amounts.format_amount("rows", file.rows)}
    return "" if rows == file.rows else _("%(now)s instead of %(then)s.") % counts


def _read_objects(lines) -> Iterator[dict[str, Any] | None]:
    """The row of each line; None for one that is no JSON object."""
    for line in lines:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = None
        yield row if isinstance(row, dict) else None


def _read_records(lines) -> Iterator[dict[str, Any] | None]:
    """The rows of a CSV file below its header; None for what is no CSV."""
    try:
        rows = spreadsheets.read_rows(lines)
        columns = next(rows, [])
        yield from (dict(zip(columns, row, strict=True)) for row in rows)
    except ValueError:
        yield None


READERS = {".csv": _read_records, ".parquet": read_parquet}  # of lines; of Parquet, of its path


def _find_unexpected(export, files):
    folder, names = folder_of(export), {file.name for file in files}
    if folder.is_dir():
        others = sorted(path.name for path in folder.iterdir() if path.name not in names)
        for name in others[:LISTED]:
            yield FileCheck(name, UNEXPECTED, _("The manifest does not name this file."))


def _sentence(count, wrong):
    if not wrong:
        return _("%(files)s compared, all intact.") % {"files": amounts.format_amount("files", count)}
    sentence = ngettext(
        "%(count)s file is not what was written: %(names)s.",
        "%(count)s files are not what was written: %(names)s.",
        len(wrong),
    )
    names = listed(file.name for file in wrong[:3]) + (" …" if len(wrong) > 3 else "")
    return sentence % {"count": f"{len(wrong):,}", "names": names}
