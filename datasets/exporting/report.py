"""What an export came to, for a terminal and for programs."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import JobRun
from openclaw_web.pages.formatting import size

from ..models import DatasetExport
from . import exports
from . import words as export_words
from .looking import differences
from .looking.fitting import Fitting

SCHEMA = "openclaw-web.export.v1"


def facts(export: DatasetExport) -> dict[str, Any]:
    """The receipt of an export that is ready."""
    return {
        "id": export.id,
        "name": export.export_name,
        "state": export.state,
        "folder": str(exports.folder_of(export)),
        "manifest": exports.read_manifest(export),
        "dry_run": False,
        "fits": None,
        "difference": differences.read(export) or None,
    }


def counted(found: Fitting) -> dict[str, Any]:
    """The receipt of a count: nothing was exported."""
    nothing = dict.fromkeys(("id", "name", "state", "folder", "manifest", "difference"))
    return {**nothing, "dry_run": True, "fits": found.as_json()}


def counted_in_words(found: Fitting) -> str:
    """How many samples fit, the rows that they become with each history, and why others are left out."""
    numbers = {"samples": f"{found.samples:,}", "rows": f"{found.rows:,}", "counted": f"{found.counted:,}"}
    if found.is_more:
        lines = [_("At least %(samples)s samples fit these options: at least %(rows)s rows") % numbers]
        lines.append(_("  The first %(counted)s samples were counted.") % numbers)
    else:
        lines = [_("%(samples)s samples fit these options: %(rows)s rows") % numbers]
    for name, rows in found.histories.items():
        lines.append(f"  --history {name}: {_rows(rows)}")
    for _name, why, count in found.left_out:
        lines.append(_("  Excluded: %(count)s (%(why)s)") % {"count": f"{count:,}", "why": why})
    return "\n".join(lines)


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
        lines.append(f"  {_rows(rows)}: {export_words.CHANGES[name]}")
    lines += [f"  {export_words.NOTES[name]}" for name in manifest.get("notes", ())]
    return "\n".join([*lines, *_prompt_lines(manifest), *_lengths(manifest), *_compared(export)])


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


def _lengths(manifest):
    """How long rows are, where the manifest says it."""
    if not (found := manifest.get("lengths")):
        return
    above = ", ".join(f"{rows:,} > {int(limit):,}" for limit, rows in found["tokens_above"].items())
    numbers = {"all": f"{found['tokens_all']:,}", "longest": f"{found['tokens_longest']:,}", "above": above}
    yield _("  About %(all)s tokens, the longest row %(longest)s; rows with more tokens: %(above)s") % numbers


def _compared(export):
    """What is different from the export before, where there is one."""
    found = differences.read(export)
    if "same" in found:
        numbers = {name: f"{found[name]['count']:,}" for name in differences.KINDS} | {"same": f"{found['same']:,}"}
        yield (
            _(
                "  Compared with the export before: %(added)s rows added, %(removed)s removed, %(changed)s changed, "
                "%(moved)s on the other side, %(same)s the same"
            )
            % numbers
        )


def _rows(count):
    return ngettext("%(count)s row", "%(count)s rows", count) % {"count": f"{count:,}"}


def _file_line(file):
    parts = [file["name"], size(file["bytes"])]
    if "rows" in file:
        parts.insert(1, _rows(file["rows"]))
    return "  ".join([*parts, f"sha256 {file['sha256']}"])
