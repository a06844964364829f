"""What the page of a ready export shows of what is in it: rows, how long they are, checks, and the export before."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.errors import Refused
from openclaw_web.pages import charts
from openclaw_web.pages.formatting import listed

from ...models import DatasetExport
from .. import secret_access, words
from ..forms import ExportForm
from ..options import CHOICES, read_options
from . import differences
from .row_view import RAW, build_row_view
from .rows import ExportRows

LONGEST_NUMBER = 12  # digits of a row
WORDS_OF_KINDS = {
    "added": gettext_lazy("Only in this export"),
    "removed": gettext_lazy("Only in the export before"),
    "changed": gettext_lazy("Same sample, other content"),
    "moved": gettext_lazy("In another part of the split"),
}
PROBLEMS = {
    differences.TOO_BIG: gettext_lazy("The exports are too large to compare."),
    differences.MISSING: gettext_lazy("A file of the exports could not be read, so they were not compared."),
    differences.NO_IDS: gettext_lazy("Rows do not name their samples, so they were not compared."),
}


def build_detail_context(request: HttpRequest, export: DatasetExport) -> dict[str, Any]:
    """The parts of the page about what is in an export; none while it is not ready."""
    if export.state != DatasetExport.State.READY:
        return dict.fromkeys(("looked", "lengths", "checks", "difference"))
    manifest = export.manifest
    return {
        "looked": _rows(request, export),
        "lengths": _lengths(manifest),
        "checks": _checks(manifest),
        "difference": _difference(export),
    }


def _rows(request, export):
    """The rows to show: one, where the address says which, else ten."""
    kind = export.export_format
    about: dict[str, Any] = {"problem": "", "count": 0, "raw_most": RAW, "one": None, "some": [], "kind": kind}
    if secret_access.count_flagged_rows(export) and not request.user.has_role("admin"):
        sentence = _("Rows of this export contain texts that may contain secrets: only admins may see them.")
        return about | {"problem": sentence}
    rows, asked = ExportRows(export), request.GET.get("row", "")
    is_number = asked.isascii() and asked.isdecimal() and len(asked) <= LONGEST_NUMBER
    about |= {"count": rows.count, "side": rows.side}
    try:
        if asked and not is_number:
            raise Refused(_("Rows are identified by their numbers."))
        if asked:
            about["one"] = build_row_view(rows.read_row(int(asked)), kind, is_alone=True)
        else:
            about["some"] = [build_row_view(line, kind) for line in rows.read_selection()]
    except Refused as refused:
        return about | {"problem": refused.sentence}
    return about


def _lengths(manifest):
    """How long rows are, as two charts and the rows beyond what trainers usually take."""
    found = manifest.get("lengths")
    if not found:
        return None
    rows = manifest["counts"]["rows"]
    above = [(int(limit), count, count / rows if rows else 0) for limit, count in found["tokens_above"].items()]
    by_tokens, by_characters = _("Rows by estimated tokens"), _("Rows by characters")
    both = [
        charts.histogram(_points(found["tokens"]), title=by_tokens, unit=_("Tokens"), label=by_tokens),
        charts.histogram(
            _points(found["characters"]), title=by_characters, unit=_("Characters"), label=by_characters, tone="ok"
        ),
    ]
    return found | {"above": above, "charts": both}


def _points(ranges):
    return [
        charts.Point(f"{first:,} – {beyond - 1:,}", charts.short_number(first), (rows,))
        for first, beyond, rows in ranges
    ]


def _checks(manifest):
    """What rows were compared with when they were written, in words, by program and version."""
    checks = manifest.get("checks", [])
    return [(f"{check['program']} {check['version']}", words.CHECKS[check["rule"]]) for check in checks]


def _difference(export):
    """What is different from the export before, in words; None where nothing was compared with."""
    found = export.difference
    before = DatasetExport.objects.filter(id=found["to"]).first() if "to" in found else None
    if before is None:
        return None
    kinds = [(word, found[name]) for name, word in WORDS_OF_KINDS.items() if name in found]
    return {
        "before": before,
        "problem": PROBLEMS.get(found.get("problem", ""), ""),
        "same": found.get("same", 0),
        "kinds": [(word, kind["count"], kind["samples"]) for word, kind in kinds],
        "options": list(_other_options(before, export)),
    }


def _other_options(before, export):
    """Options that are not the same: the label, what it was and what it is."""
    old, new = read_options(before), read_options(export)
    for name in ("sample_types", *CHOICES):
        if (was := getattr(old, name)) != (now := getattr(new, name)):
            field = ExportForm.base_fields.get(name)
            yield str(field.label) if field else name, _value(was), _value(now)


def _value(value):
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, tuple):
        return listed(value)
    return "–" if value in (None, "") else str(value)
