"""What an export came to, for a terminal and for programs."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import JobRun
from openclaw_web.pages.formatting import size

from ..models import DatasetExport
from . import exports
from . import words as export_words

SCHEMA = "openclaw-web.export.v1"


def facts(export: DatasetExport) -> dict[str, Any]:
    """The receipt of an export that is ready."""
    return {
        "id": export.id,
        "name": export.export_name,
        "state": export.state,
        "folder": str(exports.folder_of(export)),
        "manifest": exports.read_manifest(export),
    }


def sentence(export: DatasetExport, job: JobRun) -> str:
    """Why there are no files."""
    return export.sentence or job.message


def in_words(export: DatasetExport) -> str:
    """A short report: where the files are and what is in them."""
    manifest = exports.read_manifest(export)
    lines = [_("Exported to %(folder)s") % {"folder": exports.folder_of(export)}]
    lines += [f"  {_file_line(file)}" for file in manifest["files"]]
    empty = {
        "train": _("  The training part is empty and was not written."),
        "validation": _("  The validation part is empty and was not written."),
        "test": _("  The test part is empty and was not written."),
    }
    lines += [empty[side] for side in manifest["empty_sides"]]
    for found in manifest["excluded"]:
        lines.append(
            _("  Excluded: %(count)s (%(why)s)")
            % {"count": f"{found['count']:,}", "why": export_words.EXCLUSIONS[found["reason"]]}
        )
    for kind, rows in export_words.secrets(manifest):
        text = ngettext("%(count)s row", "%(count)s rows", rows) % {"count": f"{rows:,}"}
        lines.append(_("  Possible secrets: %(count)s (%(kind)s)") % {"count": text, "kind": kind})
    for name, rows in manifest["transformations"].items():
        text = ngettext("%(count)s row", "%(count)s rows", rows) % {"count": f"{rows:,}"}
        lines.append(f"  {text}: {export_words.CHANGES[name]}")
    lines += [f"  {export_words.NOTES[name]}" for name in manifest.get("notes", ())]
    return "\n".join([*lines, *_prompt_lines(manifest)])


def _prompt_lines(manifest):
    """How many rows say what their model was given, and why the others do not."""
    for counted in export_words.prompt_counts(manifest):
        text = ngettext("%(count)s row", "%(count)s rows", counted["rows"]) % {"count": f"{counted['rows']:,}"}
        why = [f"{words}: {rows:,}" for words, rows in counted["left_out"]]
        left_out = _("; left out: %(why)s") % {"why": ", ".join(why)} if why else ""
        yield f"  {counted['label']}: {text}{left_out}"
    if rows := manifest.get("prompts", {}).get("rows_with_undescribed_calls"):
        words = ngettext(
            "  %(count)s row calls tools that it does not describe.",
            "  %(count)s rows call tools that they do not describe.",
            rows,
        )
        yield words % {"count": f"{rows:,}"}


def _file_line(file):
    parts = [file["name"], size(file["bytes"])]
    if "rows" in file:
        parts.insert(1, ngettext("%(count)s row", "%(count)s rows", file["rows"]) % {"count": f"{file['rows']:,}"})
    return "  ".join([*parts, f"sha256 {file['sha256']}"])
