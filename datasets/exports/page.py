"""The page of an export, and the first rows that an export would have, with every redacted place marked.

They are for the page that counts samples. Nothing is written. Duplicates and sides are not known yet.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from findings.detection import MOST_IN_REQUEST
from openclaw_web.errors import Refused
from openclaw_web.pages import charts
from openclaw_web.pages.formatting import listed

from ..markers import TokenNumbers
from ..models import DatasetExport
from . import changes, words
from .branches import read_conversations
from .files import encode_csv, encode_line
from .forms import ExportForm
from .options import CHOICES, Options, check_options, count_flagged_rows, read_options
from .prompt_columns import get_no_prompts
from .redactions import Redaction
from .row_files import MISSING, NO_IDS, NO_LINES, TOO_BIG, ExportRows, Line
from .row_view import RAW, RowView, build_row_view
from .rows import SampleOutcome, build_rows, read_fitting
from .source import DecisionVerdicts, Source

ROWS, SESSIONS, SAMPLES = 5, 20, 40  # shown; read; of one session
SECONDS = 2.0


@dataclass(slots=True)
class Preview:
    """The first rows, preferably with redacted places, and counts of the rows that were built."""

    rows: list[RowView] = field(default_factory=list)
    built: int = 0
    redacted: int = 0  # rows with redacted places
    blocked: int = 0  # rows that an open key or password leaves out
    unsearched: int = 0  # rows with texts that were not, or not fully, searched here


def build_preview(options: Options) -> Preview:
    """Build the first rows of an export, for about two seconds.

    Raises Refused for options that cannot be exported. Personal data is always redacted here.
    """
    options = replace(options, include_pii=False)
    check_options(options)
    preview, plain = Preview(), []
    ends_at = time.monotonic() + SECONDS
    for outcome in _build_outcomes(options):
        if outcome.row is not None:
            _add_row(preview, plain, options, outcome)
        if len(preview.rows) >= ROWS or time.monotonic() > ends_at:
            break
    preview.rows += plain[: ROWS - len(preview.rows)]
    return preview


def _add_row(preview, plain, options, outcome):
    numbers = TokenNumbers()
    write = encode_csv if options.format == "csv" else encode_line
    data, _row, done = write(outcome.row, outcome.changes, numbers)
    preview.built += 1
    if changes.NOT_FULLY_SCANNED in done:
        preview.unsearched += 1
        return
    if changes.OPEN_FINDINGS in done & options.shape.withheld:
        preview.blocked += 1
        return
    view = build_row_view(Line(preview.built, data, is_csv=options.format == "csv"), options.format)
    view.sample_id = outcome.sample.sample_id  # rows of some formats have it in a file beside them
    preview.redacted += bool(numbers.places)
    if numbers.places:
        preview.rows.append(view)
    elif len(plain) < ROWS:
        plain.append(view)


def _build_outcomes(options) -> Iterator[SampleOutcome]:
    source = Source(options)
    redaction = Redaction(options, source.list_agents(), MOST_IN_REQUEST)
    verdicts = DecisionVerdicts(options)
    sessions = ((agent, session, islice(rows, SAMPLES)) for agent, session, rows in source.read_sessions())
    chosen = islice(sessions, SESSIONS)
    for _agent_id, _session_id, rows, messages, given in read_conversations(options, chosen, redaction.redactor):
        read = ((read_fitting(options.shape, row, verdicts), row) for row in rows)
        samples = (redaction.redact_sample(sample, row) for sample, row in read if not isinstance(sample, str))
        yield from build_rows(options.shape, samples, messages, given.find_prompts if given else get_no_prompts)


LONGEST_NUMBER = 12  # digits of a row
WORDS_OF_KINDS = {
    "added": gettext_lazy("Only in this export"),
    "removed": gettext_lazy("Only in the export before"),
    "changed": gettext_lazy("Same sample, other content"),
    "moved": gettext_lazy("In another part of the split"),
}
PROBLEMS = {
    TOO_BIG: gettext_lazy("The exports are too large to compare."),
    MISSING: gettext_lazy("A file of the exports could not be read, so they were not compared."),
    NO_LINES: gettext_lazy("Rows of Parquet files are not compared."),
    NO_IDS: gettext_lazy("Rows do not name their samples, so they were not compared."),
}


def build_detail_context(request: HttpRequest, export: DatasetExport) -> dict[str, Any]:
    """The parts of the page about an export's content; None while it is not ready."""
    if export.state != DatasetExport.State.READY:
        return dict.fromkeys(("file_rows", "lengths", "checks", "difference"))
    manifest = export.manifest
    return {
        "file_rows": _build_rows(request, export),
        "lengths": _build_lengths(manifest),
        "checks": [
            (f"{check['program']} {check['version']}", words.CHECKS[check["rule"]])
            for check in manifest.get("checks", [])
        ],
        "difference": _describe_difference(export),
    }


def _build_rows(request, export):
    """The rows to show: the one that the address names, else ten."""
    kind = export.export_format
    context: dict[str, Any] = {"problem": "", "count": 0, "raw_most": RAW, "row": None, "rows": [], "kind": kind}
    if count_flagged_rows(export) and not request.user.has_role("admin"):
        sentence = _(
            "Rows of this export may contain personal data, or keys that nobody has judged: only admins may see them."
        )
        return context | {"problem": sentence}
    if kind == DatasetExport.Format.PARQUET:
        sentence = _("Rows of Parquet files are not shown. Export the format messages to preview them.")
        return context | {"problem": sentence}
    rows, number_text = ExportRows(export), request.GET.get("row", "")
    is_number = number_text.isascii() and number_text.isdecimal() and len(number_text) <= LONGEST_NUMBER
    context |= {"count": rows.count, "side": rows.side}
    try:
        if number_text and not is_number:
            raise Refused(_("Rows are identified by their numbers."))
        if number_text:
            context["row"] = build_row_view(rows.read_row(int(number_text)), kind, is_alone=True)
        else:
            context["rows"] = [build_row_view(line, kind) for line in rows.read_selection()]
    except Refused as refused:
        return context | {"problem": refused.sentence}
    return context


def _build_lengths(manifest):
    """How long rows are: two charts, and the rows beyond usual limits of trainers."""
    lengths = manifest.get("lengths")
    if not lengths:
        return None
    rows = manifest["counts"]["rows"]
    above = [(int(limit), count, count / rows if rows else 0) for limit, count in lengths["tokens_above"].items()]
    by_tokens, by_characters = _("Rows by estimated tokens"), _("Rows by characters")
    histograms = [
        charts.histogram(_build_points(lengths["tokens"]), title=by_tokens, unit=_("Tokens"), label=by_tokens),
        charts.histogram(
            _build_points(lengths["characters"]),
            title=by_characters,
            unit=_("Characters"),
            label=by_characters,
            tone="ok",
        ),
    ]
    return lengths | {"above": above, "charts": histograms}


def _build_points(ranges):
    return [
        charts.Point(f"{first:,} – {beyond - 1:,}", charts.short_number(first), (rows,))
        for first, beyond, rows in ranges
    ]


def _describe_difference(export):
    """The difference from the export before, in words; None without a comparison."""
    difference = export.difference
    before = DatasetExport.objects.filter(id=difference["to"]).first() if "to" in difference else None
    if before is None:
        return None
    kinds = [(word, difference[name]) for name, word in WORDS_OF_KINDS.items() if name in difference]
    return {
        "before": before,
        "problem": PROBLEMS.get(difference.get("problem", ""), ""),
        "same": difference.get("same", 0),
        "kinds": [(word, kind["count"], kind["samples"]) for word, kind in kinds],
        "options": list(_list_changed_options(before, export)),
    }


def _list_changed_options(before, export):
    """Options that are not the same: the label, the value before and the value now."""
    old, new = read_options(before), read_options(export)
    for name in ("sample_types", *CHOICES):
        if (was := getattr(old, name)) != (now := getattr(new, name)):
            field = ExportForm.base_fields.get(name)
            yield str(field.label) if field else name, _format_value(was), _format_value(now)


def _format_value(value):
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, tuple):
        return listed(value)
    return "–" if value in (None, "") else str(value)
