"""What an export came to, for a terminal and for programs."""

from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.templatetags.formatting import size
from datasets import export_words, exports
from datasets.models import DatasetExport

from .models import JobRun

SCHEMA = "openclaw-web.export.v1"
REASONS_SHOWN = 20


def as_json(export: DatasetExport, job: JobRun) -> str:
    """The receipt: one JSON object with a stable schema name."""
    is_ready = export.state == DatasetExport.State.READY
    receipt: dict[str, Any] = {
        "schema": SCHEMA,
        "id": export.id,
        "name": export.export_name,
        "state": export.state,
        "sentence": _sentence(export, job),
        "folder": str(exports.folder_of(export)) if is_ready else None,
        "reasons": exports.read_reasons(export),
        "manifest": exports.read_manifest(export) or None,
    }
    return orjson.dumps(receipt, option=orjson.OPT_INDENT_2).decode()


def in_words(export: DatasetExport, job: JobRun) -> str:
    """A short report: where the files are and what is in them, or what stood in the way."""
    if export.state != DatasetExport.State.READY:
        return "\n".join([_sentence(export, job), *_in_the_way(exports.read_reasons(export))])
    manifest = exports.read_manifest(export)
    lines = [_("Exported to %(folder)s") % {"folder": exports.folder_of(export)}]
    lines += [f"  {_file_line(file)}" for file in manifest["files"]]
    lines += [_("  The %(side)s side is empty and was left out.") % {"side": side} for side in manifest["empty_sides"]]
    for found in manifest["excluded"]:
        lines.append(
            _("  Left out: %(count)s (%(why)s)")
            % {"count": f"{found['count']:,}", "why": export_words.EXCLUSIONS[found["reason"]]}
        )
    for name, rows in manifest["transformations"].items():
        text = ngettext("%(count)s row", "%(count)s rows", rows) % {"count": f"{rows:,}"}
        lines.append(f"  {text}: {export_words.CHANGES[name]}")
    return "\n".join(lines)


def _sentence(export, job):
    return export.sentence or (job.message if job.state in (job.State.REFUSED, job.State.FAILED) else "")


def _in_the_way(reasons):
    lines = [f"  {reason['id']}: {reason['reason']}" for reason in reasons[:REASONS_SHOWN]]
    if len(reasons) > REASONS_SHOWN:
        lines.append(_("  … and more: see the page of the export, or --json"))
    return lines


def _file_line(file):
    parts = [file["name"], size(file["bytes"])]
    if "rows" in file:
        parts.insert(1, ngettext("%(count)s row", "%(count)s rows", file["rows"]) % {"count": f"{file['rows']:,}"})
    return "  ".join([*parts, f"sha256 {file['sha256']}"])
