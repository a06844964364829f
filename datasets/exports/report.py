"""What an export came to, for a terminal and for programs."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import JobRun
from openclaw_web import amounts
from openclaw_web.pages.formatting import listed, size

from ..models import DatasetExport
from . import exports
from . import words as export_words
from .builder.export_count import ExportCount
from .detail import differences

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


def build_count_receipt(found: ExportCount) -> dict[str, Any]:
    """The receipt of a count: nothing was exported."""
    nothing = dict.fromkeys(("id", "name", "state", "folder", "manifest", "difference"))
    return {**nothing, "dry_run": True, "fits": found.as_json()}


def describe_count(found: ExportCount) -> str:
    """How many samples fit, the rows that they become with each history, and why others are left out."""
    numbers = {
        "samples": amounts.format_amount("samples", found.samples),
        "rows": amounts.format_amount("rows", found.rows),
    }
    if found.is_more:
        fits = ngettext(
            "At least %(samples)s fits these options: at least %(rows)s",
            "At least %(samples)s fit these options: at least %(rows)s",
            found.samples,
        )
        first = _("  Only the first %(samples)s were counted.") % {
            "samples": amounts.format_amount("samples", found.counted)
        }
        lines = [fits % numbers, first]
    else:
        fits = ngettext(
            "%(samples)s fits these options: %(rows)s", "%(samples)s fit these options: %(rows)s", found.samples
        )
        lines = [fits % numbers]
    for name, rows in found.histories.items():
        lines.append(f"  --history {name}: {amounts.format_amount('rows', rows)}")
    for _name, why, count in found.left_out:
        lines.append(_("  Excluded: %(count)s (%(why)s)") % {"count": f"{count:,}", "why": why})
    if found.has_dominant_set:
        lines.append(f"  {export_words.describe_dominant_set(found.largest_set, found.set_counted)}")
    return "\n".join(lines)


def describe_failure(export: DatasetExport, job: JobRun) -> str:
    """Why there are no files."""
    return export.sentence or job.message


def describe_export(export: DatasetExport) -> str:
    """A short report: where the files are and what is in them."""
    manifest = export.manifest
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
    lines += _secrets(manifest)
    for name, rows in manifest["transformations"].items():
        lines.append(f"  {amounts.format_amount('rows', rows)}: {export_words.CHANGES[name]}")
    lines += [f"  {export_words.NOTES[name]}" for name in manifest.get("notes", ())]
    return "\n".join([*lines, *_prompt_lines(manifest), *_lengths(manifest), *_compared(export)])


def _secrets(manifest):
    """How many rows may contain secrets, and whether they are in the files."""
    if manifest["options"]["include_flagged"]:
        words = _("  Possible secrets: %(count)s in the files (%(kind)s)")
    else:
        words = _("  Possible secrets: %(count)s, not in the files (%(kind)s)")
    for kind, rows in export_words.describe_secrets(manifest):
        yield words % {"count": amounts.format_amount("rows", rows), "kind": kind}


def _prompt_lines(manifest):
    """How many rows say what their model was given, and why the others do not."""
    for counted in export_words.describe_prompts(manifest):
        why = [f"{words}: {rows:,}" for words, rows in counted["left_out"]]
        left_out = _("; left out: %(why)s") % {"why": listed(why)} if why else ""
        yield f"  {counted['label']}: {amounts.format_amount('rows', counted['rows'])}{left_out}"
    if rows := manifest.get("prompts", {}).get("rows_with_undescribed_calls"):
        words = ngettext(
            "  %(count)s row calls tools that it does not describe.",
            "  %(count)s rows call tools that they do not describe.",
            rows,
        )
        yield words % {"count": f"{rows:,}"}


def _lengths(manifest):
    """How long rows are, where the manifest says it."""
    if not (found := manifest.get("lengths")):
        return
    tokens = {name: amounts.format_amount("tokens", found[f"tokens_{name}"]) for name in ("all", "longest")}
    yield _("  About %(all)s, in the longest row %(longest)s") % tokens
    first, *others = found["tokens_above"].items()
    above = [_("  More than %(limit)s tokens: %(rows)s") % _above(*first)]
    above += [_("; more than %(limit)s: %(rows)s") % _above(*other) for other in others]
    yield "".join(above)


def _above(limit, rows):
    return {"limit": f"{int(limit):,}", "rows": amounts.format_amount("rows", rows)}


def _compared(export):
    """What is different from the export before, where there is one."""
    found = export.difference
    before = DatasetExport.objects.filter(id=found.get("to", "")).first()
    if before is None or "same" not in found:
        return
    numbers = {name: f"{found[name]['count']:,}" for name in differences.KINDS} | {"same": f"{found['same']:,}"}
    yield (
        _(
            "  Rows compared with the export %(name)s: added %(added)s, removed %(removed)s, changed %(changed)s, "
            "in another part of the split %(moved)s, the same %(same)s"
        )
        % {"name": before.export_name, **numbers}
    )


def _file_line(file):
    parts = [file["name"], size(file["bytes"])]
    if "rows" in file:
        parts.insert(1, amounts.format_amount("rows", file["rows"]))
    return "  ".join([*parts, f"sha256 {file['sha256']}"])
