"""Exports of traces as jobs, and their files, which the home has for a week."""

import re
import shutil
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from ulid import ULID

from artifacts.content_download import FlaggedArtifact
from jobs import services as jobs
from jobs.kinds import DAY_MS, Kind
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.disk import drafts
from openclaw_web.pages.downloads import FileDownload, StreamedDownload
from openclaw_web.pages.zips import ZipEntry, compute_length, stream_zip
from openclaw_web.sentences import join_sentences
from people.audit import log as audit

from .export import RECEIPT, TraceRequest, write_traces

JOB_KIND = "trace"
TRACE_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
LASTING_DAYS = 7


def start(request: TraceRequest, *, by: str, is_admin: bool) -> tuple[str, JobRun]:
    """Queue an export of traces; return its id and its job. Raises Refused."""
    request.check(is_admin=is_admin)
    trace_id = str(ULID())
    with transaction.atomic():
        record_export(request, trace_id, by=by)
        return trace_id, jobs.start(JOB_KIND, {"trace": trace_id, "request": asdict(request), "by": by}, by=by)


def record_export(request: TraceRequest, trace_id: str, *, by: str) -> None:
    """Add the entry of an export to the audit log."""
    details = {name: value for name, value in asdict(request).items() if value and name != "agent"}
    audit.record(by, "exported", object_type="trace", object_id=trace_id, agent_id=request.agent, **details)


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Write the files, and return what is in them. A run after a kill writes all of them again."""
    remove_old()
    folder = get_folder(params["trace"])
    if not folder.is_dir():
        with drafts.create_draft(folder) as draft:
            write_traces(TraceRequest(**params["request"]), draft, progress)
            drafts.publish(draft, folder)
    receipt = read_receipt(params["trace"])
    return {"message": describe(receipt)} | {name: receipt[name] for name in ("sessions", "messages", "withheld")}


def describe(receipt: dict[str, Any]) -> str:
    """A receipt in a sentence or two."""
    left_out = sum(group["count"] for group in receipt["left_out"].values())
    sentences = [format_plural("%(count)s session exported.", "%(count)s sessions exported.", receipt["sessions"])]
    if left_out:
        sentences.append(format_plural("%(count)s was left out.", "%(count)s were left out.", left_out))
    return join_sentences(sentences)


def get_folder(trace_id: str) -> Path:
    """The folder of an export's files. Raises Http404 for what is no id."""
    if not TRACE_ID.fullmatch(trace_id):
        raise Http404(_("There is no export of sessions %(id)s.") % {"id": trace_id[:100]})
    return Path(settings.HOME_DIR) / "traces" / trace_id


def find_job(trace_id: str) -> JobRun | None:
    """The job of an export; None for an id that has none."""
    get_folder(trace_id)
    return next(iter(jobs.find_latest([JOB_KIND], 1, params_json__contains=f'"{trace_id}"')), None)


def read_receipt(trace_id: str) -> dict[str, Any]:
    """The receipt of an export; empty when its files are not written yet, or older than a week."""
    folder = get_folder(trace_id)
    with suppress(FileNotFoundError):
        return {} if _is_old(trace_id) else orjson.loads((folder / RECEIPT).read_bytes())
    return {}


def build_download(trace_id: str, *, by: str, is_admin: bool) -> HttpResponse:
    """The file of an export, or a ZIP of its files and the receipt.

    Raises Http404 when they are gone, and FlaggedArtifact when they are for admins alone.
    """
    receipt = read_receipt(trace_id)
    if not receipt:
        raise Http404(_("The files of this export are not written yet, or were removed after a week."))
    if TraceRequest(**receipt["request"]).is_for_admins and not is_admin:
        audit.record(by, "download_refused", object_type="trace", object_id=trace_id)
        raise FlaggedArtifact(
            _("This file may contain personal data, or keys that nobody has judged: only admins may download it.")
        )
    paths = sorted(get_folder(trace_id).iterdir())
    files = [path for path in paths if path.name != RECEIPT]
    if len(files) == 1:
        return FileDownload(files[0], as_attachment=True, filename=files[0].name)
    entries = [ZipEntry(f"traces-{trace_id}/{path.name}", path, path.stat().st_size) for path in paths]
    response = StreamedDownload(stream_zip(entries), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="traces-{trace_id}.zip"'
    response["Content-Length"] = compute_length(entries)
    return response


def remove_old() -> None:
    """Remove exports that are older than a week."""
    parent = Path(settings.HOME_DIR) / "traces"
    for folder in parent.iterdir() if parent.is_dir() else ():
        if TRACE_ID.fullmatch(folder.name) and not folder.is_symlink() and _is_old(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


def _is_old(trace_id):
    return clock.now_ms() - ULID.from_str(trace_id).milliseconds > LASTING_DAYS * DAY_MS


JOB = Kind(
    run=run,
    label=gettext_lazy("Export of sessions"),
    audit_text=gettext_lazy("started an export of sessions"),
    cancel_text=gettext_lazy("The unfinished files are removed."),
    page="operations:trace_detail",
    page_params=("trace",),
)
