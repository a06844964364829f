"""Creates exports and builds their files.

Building does not depend on jobs: the caller passes a progress.
"""

import hashlib
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.utils.translation import gettext as _
from ulid import ULID

from agents import databases
from findings import scan
from openclaw_web import clock
from openclaw_web.disk import drafts, room
from openclaw_web.errors import Refused
from openclaw_web.pages.downloads import StreamedDownload
from openclaw_web.pages.zips import ZipEntry, compute_length, stream_zip
from openclaw_web.sqlite.json_columns import encode
from people.audit import log as audit

from .. import seals
from ..models import DatasetExport
from . import clean_texts, words
from .branches import read_conversations
from .files import FileFacts, dataset_name, format_checksums
from .options import Options, check_name, check_options, count_flagged_rows, read_options
from .plan import build_export_plan
from .redactions import Redaction
from .row_samples import remove_index
from .source import LISTED, DecisionVerdicts, Source, find_other_task
from .writer import ExportWriter


def download_zip(export: DatasetExport) -> StreamedDownload:
    """A ZIP with one folder, named after the export, of all its files.

    Raises Refused when a file is missing or has another size: what it holds is not compared here.
    """
    name = export.manifest.get("dataset") or dataset_name(export.export_name, export.export_format)
    files = []
    for file in list_files(export):
        path = folder_of(export) / file.name
        if not has_its_size(path, file):
            raise Refused(describe_unsent_file(file.name))
        files.append(ZipEntry(f"{name}/{file.name}", path, file.bytes))
    response = StreamedDownload(stream_zip(files), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    response["Content-Length"] = compute_length(files)
    return response


MANIFEST = "manifest.json"
REHEARSAL = "dry-run"  # the name of an export that is not kept
STATES_WITHOUT_FILES = (DatasetExport.State.REFUSED, DatasetExport.State.FAILED)
ENDED_STATES = (DatasetExport.State.READY, *STATES_WITHOUT_FILES)
CONTENT_TYPES = {
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".py": "text/x-python",
    "": "text/plain",
}


class Progress(Protocol):
    """The receiver of a build's progress: see jobs.progress.Progress."""

    def update(self, done: int, total: int | None = None, message: str = "") -> None: ...


def create_export(
    name: str,
    format: str,
    task: str,
    *,
    by: str,
    **choices: Any,
) -> DatasetExport:
    """Create the row of a new export, waiting to be built.

    `choices` are those of options.Options. Raises Refused for options that cannot be exported.
    """
    options = Options(format=format, task=task, **choices)
    name = check_name(name)
    check_options(options)
    export_id = str(ULID())
    return DatasetExport.objects.create(
        id=export_id,
        export_name=name,
        export_format=options.format,
        task=options.task,
        types=options.sample_types,
        choices=options.to_filters(),
        version_id=options.release,
        file_path=f"exports/{export_id}",
        exported_by=by,
        exported_at=clock.now_ms(),
    )


def check_request(name: str, format: str, task: str, **choices: Any) -> None:
    """Raises Refused for a request that is useless: a taken name, or nothing to export.

    Names of exports that failed or were refused are free. The refusal names samples that the choices leave out.
    """
    options = Options(format=format, task=task, **choices)
    check_options(options)
    name = check_name(name)
    if DatasetExport.objects.filter(export_name=name).exclude(state__in=STATES_WITHOUT_FILES).exists():
        raise Refused(_("There is already an export named %(name)s. Choose another name.") % {"name": name})
    source = Source(options)
    if not source.chosen.exists():
        excluded = source.count_excluded()
        other = find_other_task(options)
        sentence = words.describe_nothing_left(excluded, is_scored=source.is_scored(), other_task=other)
        raise Refused(sentence, reasons=words.describe_left_out(excluded)[:LISTED])


def build_export(export_id: str, progress: Progress) -> dict[str, Any]:
    """Write the files of an export and return its manifest.

    An export that was built before returns the manifest that it has.

    Can be run again after any interruption: an export's folder appears when it is complete, and not before.
    Raises Refused when there is nothing to export, or rows that trainers would not take.
    """
    export = DatasetExport.objects.filter(id=export_id).first()
    if export is None:
        raise Refused(describe_missing_export())
    folder = folder_of(export)
    if not (export.state == DatasetExport.State.READY and folder.is_dir()):
        with _record_state(export):
            if not folder.is_dir():
                DatasetExport.choices.decode_strictly(
                    export.filters or "{}"
                )  # without these options, more would be exported
                DatasetExport.types.decode_strictly(export.sample_types)
                _write(export, folder, progress)
            _finish(export, folder)
    return export.manifest


def describe_missing_export() -> str:
    """The sentence about an export that does not exist."""
    return _("This export does not exist. Start a new export.")


def give_up(export_id: str, sentence: str) -> None:
    """Give up an export that is not built any more, unless it is ready.

    Its files are removed, and its name is free.
    """
    rows = DatasetExport.objects.filter(id=export_id).exclude(state=DatasetExport.State.READY)
    for export in rows:
        folder = folder_of(export)
        drafts.remove_drafts(folder)
        shutil.rmtree(folder, ignore_errors=True)
        remove_index(export.id)
    rows.update(state=DatasetExport.State.FAILED, sentence=sentence, reasons_json="[]")


def folder_of(export: DatasetExport) -> Path:
    """The folder of an export's files, which exists once they are complete."""
    return Path(settings.HOME_DIR) / export.file_path


def content_type(name: str) -> str:
    """The content type of an export's file, for browsers."""
    return CONTENT_TYPES.get(Path(name).suffix, "application/octet-stream")


def find_file(export: DatasetExport, name: str) -> Path | None:
    """The file of an export by its name, None if the export has no such file.

    A ready export has the files that its manifest names, and the manifest.
    """
    if export.state != DatasetExport.State.READY:
        return None
    path = folder_of(export) / name
    return path if name in {file.name for file in list_files(export)} and path.is_file() else None


def list_files(export: DatasetExport) -> list[FileFacts]:
    """Every file that a ready export must have.

    The files in its manifest, the manifest, and the checksums of them all.
    """
    manifest = export.manifest
    if not manifest:
        return []
    files = [FileFacts(file["name"], file["bytes"], file["sha256"], file.get("rows")) for file in manifest["files"]]
    files.append(FileFacts(MANIFEST, len((export.manifest_json or "").encode()), export.checksum or ""))
    data = format_checksums((file.name, file.sha256) for file in files)
    return [*files, FileFacts(manifest["checksums"], len(data), hashlib.sha256(data).hexdigest())]


def has_its_size(path: Path, facts: FileFacts) -> bool:
    """Whether a path is a regular file, no link, of the size that was written.

    `verification` compares the content.
    """
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == facts.bytes


def find_file_to_send(export: DatasetExport, name: str) -> Path | None:
    """The file of an export by its name, for a download.

    Raises Refused when its size is not the one that was written.
    """
    path = find_file(export, name)
    if path and not has_its_size(path, next(file for file in list_files(export) if file.name == name)):
        raise Refused(describe_unsent_file(name))
    return path


def describe_unsent_file(name: str) -> str:
    """The sentence about a file that is not sent."""
    return _("%(file)s is missing or was changed. Verify the files of this export.") % {"file": name}


def get_checksum(export: DatasetExport, name: str) -> str:
    """The sha256 of a file of an export, by the file's name."""
    return next(file.sha256 for file in list_files(export) if file.name == name)


def rehearse(options: Options, progress: Progress) -> ExportWriter:
    """Build all rows of an export in a draft, and remove the draft.

    The returned writer has the counts. Raises Refused for rows that trainers would not take.
    """
    with _write_draft(options, settings.HOME_DIR / "exports" / REHEARSAL, REHEARSAL, progress) as (writer, _draft):
        writer.refuse_broken()
        return writer


def _write(export, folder, progress):
    with _write_draft(read_options(export), folder, export.export_name, progress) as (writer, draft):
        writer.finish()
        writer.close()
        try:
            writer.row_index.write(export.id)
            drafts.publish(draft, folder)
        finally:
            if not folder.is_dir():
                remove_index(export.id)


@contextmanager
def _write_draft(options, folder, name, progress) -> Iterator[tuple[ExportWriter, Path]]:
    """The rows of an export in a draft of its folder.

    The draft is removed afterwards unless it was published.
    """
    if options.release is not None:
        seals.refuse_changed(options.release)
    source = Source(options)
    total = source.chosen.count()
    with room.refuse_when_full(folder.parent, _("Nothing was exported.")), drafts.create_draft(folder) as draft:
        agent_ids = source.list_agents()
        for db in filter(None, map(databases.find_alias, agent_ids)):
            scan.scan_agent(db, progress)  # what is new, so that people can judge it
        redaction = Redaction(options, agent_ids)
        verdicts = DecisionVerdicts(options)
        plan = build_export_plan(source, options, verdicts, draft, progress, total)
        progress.update(0, total, _("Writing rows"))
        writer = ExportWriter(options, draft, source.count_excluded(), name, plan, verdicts, redaction)
        try:
            source.columns = (*source.columns, *clean_texts.COLUMNS)
            read = source.read_sessions()
            sessions = ((agent_id, name, map(redaction.clean.take, rows)) for agent_id, name, rows in read)
            for session in read_conversations(options, sessions, redaction.redactor):
                for samples_seen in writer.add_session(*session):
                    progress.update(samples_seen, total)
            progress.update(writer.seen, total, _("Checking and finishing the files"))
            yield writer, draft
        finally:
            writer.close()


@contextmanager
def _record_state(export) -> Iterator[None]:
    """Keep the state in the export's row true to what happens to the build."""
    rows = DatasetExport.objects.filter(id=export.id)
    rows.update(state=DatasetExport.State.RUNNING, sentence="", reasons_json="[]")
    try:
        yield
    except Refused as refused:
        rows.update(state=DatasetExport.State.REFUSED, sentence=refused.sentence, reasons_json=encode(refused.reasons))
        raise
    finally:
        sentence = _("Stopped by an unexpected error. See the server log.")
        rows.filter(state=DatasetExport.State.RUNNING).update(state=DatasetExport.State.FAILED, sentence=sentence)


def _finish(export, folder):
    """Copy the content of the folder's manifest into the export's row.

    After an interruption, the folder counts, and not the row.
    """
    data = (folder / MANIFEST).read_bytes()
    export.manifest_json, export.checksum = data.decode(), hashlib.sha256(data).hexdigest()
    manifest = export.manifest
    counts = manifest["counts"]
    excluded = {group["reason"]: group["count"] for group in manifest["excluded"]}
    if rows := count_flagged_rows(export):  # logged first, before anybody can download it
        details = {"object_type": "export", "object_id": export.id, "rows": rows}
        audit.record(export.exported_by or "", "exported_flagged", **details)
    DatasetExport.objects.filter(id=export.id).update(
        state=DatasetExport.State.READY,
        sentence="",
        reasons_json="[]",
        manifest_json=export.manifest_json,
        checksum=export.checksum,
        total_samples=counts["rows"],
        approved_samples=counts["approved"],
        rejected_samples=excluded.get("rejected", 0),
        avg_quality_score=counts["average_quality"],
        file_size_bytes=sum(file.bytes for file in list_files(export)),
        exported_at=clock.now_ms(),
    )
