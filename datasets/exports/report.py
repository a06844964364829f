"""Receipts of exports for programs, and texts about them for a terminal."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import JobRun
from openclaw_web import amounts
from openclaw_web.pages.formatting import listed, size

from ..models import DatasetExport
from . import exports
from . import words as export_words
from .export_count import ExportCount
from .row_files import KINDS

SCHEMA = "openclaw-web.export.v1"


def build_receipt(export: DatasetExport) -> dict[str, Any]:
    """The receipt of an export that is ready."""
    return {
        "id": export.id,
        "name": export.export_name,
        "state": export.state,
        "folder": str(exports.folder_of(export)),
        "manifest": export.manifest,
        "dry_run": False,
        "fits": None,
        "difference": export.difference or None,
    }


def build_count_receipt(export_count: ExportCount) -> dict[str, Any]:
    """The receipt of a count, without an export."""
    empty = dict.fromkeys(("id", "name", "state", "folder", "manifest", "difference"))
    return {**empty, "dry_run": True, "fits": export_count.as_json()}


def describe_count(export_count: ExportCount) -> str:
    """How many samples fit, their rows with each history, and reasons for leaving others out."""
    numbers = {
        "samples": amounts.format_amount("samples", export_count.samples),
        "rows": amounts.format_amount("rows", export_count.rows),
    }
    if export_count.is_more:
        fits = ngettext(
            "At least %(samples)s fits these options: at least %(rows)s",
            "At least %(samples)s fit these options: at least %(rows)s",
            export_count.samples,
        )
        first = _("  Only the first %(samples)s were counted.") % {
            "samples": amounts.format_amount("samples", export_count.counted)
        }
        lines = [fits % numbers, first]
    else:
        fits = ngettext(
            "%(samples)s fits these options: %(rows)s", "%(samples)s fit these options: %(rows)s", export_count.samples
        )
        lines = [fits % numbers]
    for name, rows in export_count.histories.items():
        lines.append(f"  --history {name}: {amounts.format_amount('rows', rows)}")
    for _name, why, count in export_count.left_out:
        lines.append(_("  Excluded: %(count)s (%(why)s)") % {"count": f"{count:,}", "why": why})
    if export_count.has_dominant_set:
        lines.append(f"  {export_words.describe_dominant_set(export_count.largest_set, export_count.set_counted)}")
    return "\n".join(lines)


def describe_failure(export: DatasetExport, job: JobRun) -> str:
    """The reason why an export has no files, as a sentence."""
    return export.sentence or job.message


def describe_export(export: DatasetExport) -> str:
    """A short report: where the files are and what is in them."""
    manifest = export.manifest
    lines = [_("Exported to %(folder)s") % {"folder": exports.folder_of(export)}]
    lines += [f"  {_format_file(file)}" for file in manifest["files"]]
    empty = {
        "train": _("  The training part is empty and was not written."),
        "validation": _("  The validation part is empty and was not written."),
        "test": _("  The test part is empty and was not written."),
    }
    lines += [empty[side] for side in manifest["empty_sides"]]
    for group in manifest["excluded"]:
        lines.append(
            _("  Excluded: %(count)s (%(why)s)")
            % {"count": f"{group['count']:,}", "why": export_words.EXCLUSIONS[group["reason"]]}
        )
    lines += _describe_redactions(manifest)
    for name, rows in manifest["transformations"].items():
        lines.append(f"  {amounts.format_amount('rows', rows)}: {export_words.CHANGES[name]}")
    lines += [f"  {export_words.NOTES[name]}" for name in manifest.get("notes", ())]
    return "\n".join(
        [*lines, *_describe_prompt_columns(manifest), *_describe_lengths(manifest), *_describe_difference(export)]
    )


def _describe_redactions(manifest):
    """How many values were redacted, by kind."""
    for kind, rows, places in export_words.describe_redactions(manifest):
        words = ngettext(
            "  Redacted: %(kind)s, %(places)s place in %(rows)s",
            "  Redacted: %(kind)s, %(places)s places in %(rows)s",
            places,
        )
        yield words % {"kind": kind, "places": f"{places:,}", "rows": amounts.format_amount("rows", rows)}


def _describe_prompt_columns(manifest):
    """How many rows have prompt columns, and why the others have not."""
    for counted in export_words.describe_prompts(manifest):
        why = [f"{words}: {rows:,}" for words, rows in counted["left_out"]]
        left_out = _("; left out: %(why)s") % {"why": listed(why)} if why else ""
        yield f"  {counted['label']}: {amounts.format_amount('rows', counted['rows'])}{left_out}"
        for words, rows in counted["altered"]:
            yield f"  {counted['label']}: {words}: {amounts.format_amount('rows', rows)}"
    if rows := manifest.get("prompts", {}).get("rows_with_undescribed_calls"):
        words = ngettext(
            "  %(count)s row calls tools that it does not describe.",
            "  %(count)s rows call tools that they do not describe.",
            rows,
        )
        yield words % {"count": f"{rows:,}"}


def _describe_lengths(manifest):
    """How long rows are, where the manifest says it."""
    if not (lengths := manifest.get("lengths")):
        return
    tokens = {name: amounts.format_amount("tokens", lengths[f"tokens_{name}"]) for name in ("all", "longest")}
    yield _("  About %(all)s, in the longest row %(longest)s") % tokens
    first, *others = lengths["tokens_above"].items()
    above = [_("  More than %(limit)s tokens: %(rows)s") % _format_limit(*first)]
    above += [_("; more than %(limit)s: %(rows)s") % _format_limit(*other) for other in others]
    yield "".join(above)


def _format_limit(limit, rows):
    return {"limit": f"{int(limit):,}", "rows": amounts.format_amount("rows", rows)}


def _describe_difference(export):
    """The differences from the export before, where there is one."""
    difference = export.difference
    before = DatasetExport.objects.filter(id=difference.get("to", "")).first()
    if before is None or "same" not in difference:
        return
    numbers = {name: f"{difference[name]['count']:,}" for name in KINDS} | {"same": f"{difference['same']:,}"}
    yield (
        _(
            "  Rows compared with the export %(name)s: added %(added)s, removed %(removed)s, changed %(changed)s, "
            "in another part of the split %(moved)s, the same %(same)s"
        )
        % {"name": before.export_name, **numbers}
    )


def _format_file(file):
    parts = [file["name"], size(file["bytes"])]
    if "rows" in file:
        parts.insert(1, amounts.format_amount("rows", file["rows"]))
    return "  ".join([*parts, f"sha256 {file['sha256']}"])
