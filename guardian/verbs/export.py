"""`reflection guardian export`: writes the list of writes to one file."""

import re
from base64 import b64encode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web import clock, spreadsheets
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.commands import row_files
from openclaw_web.commands.groups import WrongUse
from openclaw_web.lists.paging import read_batches
from openclaw_web.pages import glyphs

from ..detail import api_detail
from ..detail.audit_list import FIELDS
from ..models import FileSnapshot
from . import filters

HELP = gettext_lazy("Write the writes to memory files to a file, or to standard output.")
EXAMPLES = ("reflection guardian export --format markdown --since 2026-11-01 --output writes.md",)
FORMATS = ("json", "csv", "markdown")
CONTENTS = ("before_content", "after_content")
BYTES = ("before_base64", "after_base64")  # of contents that are not all text
SIDES = ("before_snapshot_id", "after_snapshot_id")
SAID = ("rollback", "corrections")  # what people did about a write, in JSON
ROLLBACK = {"rolled_back_at": "rolled_back_at", "rolled_back_by": "rolled_back_by", "rollback_reason": "reason"}
STANDING = {
    **{name: name for name in ("corrected_status", "corrected_fact", "corrected_file", "corrected_by", "corrected_at")},
    "correction_reason": "reason",
}
FLAT = (*ROLLBACK, *STANDING)  # in one row: the rollback, and of the corrections the last one
WRITTEN = ngettext_lazy("%(count)s write exported to %(file)s.", "%(count)s writes exported to %(file)s.", "number")
BATCH, BIG_BATCH = 500, 20  # rows that are read together, without contents and with them


def add_arguments(parser):
    words = _("(%(default)s); in CSV, a cell that a spreadsheet would run as a formula has a ' before it")
    parser.add_argument("--format", default="json", choices=FORMATS, help=words)
    parser.add_argument("-o", "--output", metavar="FILE", help=_("file to write (standard output)"))
    words = _(
        "with all that the file held before and after, as text, and in base64 where it is not all text, or where CSV"
        " has a ' before it"
    )
    parser.add_argument("--include-content", action="store_true", help=words)
    filters.add_filters(parser)


def run(agent, format, output, include_content, **options):
    if options["json"] and not output:
        raise WrongUse(_("--json prints only the receipt: name a file for the writes with --output."))
    rows = _read_rows(agents.get(agent), options, with_content=include_content)
    outcome_columns = SAID if format == "json" else FLAT
    columns = [*FIELDS, *outcome_columns, "diff", *((*CONTENTS, *BYTES) if include_content else ())]
    if format == "markdown":
        texts = _format_markdown(rows, columns)
    else:
        rows = (_add_exact_bytes(_flatten(row)) for row in rows) if format == "csv" else rows
        texts = row_files.format_rows(format, columns, rows)
    return row_files.write_rows(output, format, columns, texts, WRITTEN)


def _read_rows(agent, options, *, with_content):
    """Yield the writes that fit as dictionaries, with their diffs.

    With `with_content` also with both contents.
    """
    listing = filters.build_listing(agent, options)
    rows = listing.all.values(*FIELDS, "diff", *SIDES, "place")
    versions = FileSnapshot.objects.using(agent.db)
    for batch in read_batches(rows, order=listing.order, size=BIG_BATCH if with_content else BATCH):
        ids = {row[side] for row in batch for side in SIDES if row[side]} if with_content else ()
        content_rows = versions.filter(id__in=ids).values_list("id", "content", "raw") if ids else ()
        outcomes = api_detail.read_outcomes(agent.db, [row["id"] for row in batch])
        contents = {name: (content, raw and b64encode(raw).decode()) for name, content, raw in content_rows}
        for row in batch:
            both = [contents.get(row[side], (None, None)) for side in SIDES]
            sides = dict(zip((*CONTENTS, *BYTES), (content[part] for part in (0, 1) for content in both), strict=True))
            columns = {name: value for name, value in row.items() if name not in (*SIDES, "place")}
            yield columns | outcomes[row["id"]] | (sides if with_content else {})


def _flatten(row):
    """Return a row with rollback and correction as columns; of several corrections the last."""
    rollback, corrections = row["rollback"] or {}, row["corrections"]
    last = corrections[-1] if corrections else {}
    outcome_columns = {column: rollback.get(name) for column, name in ROLLBACK.items()}
    return row | outcome_columns | {column: last.get(name) for column, name in STANDING.items()}


def _add_exact_bytes(row):
    """Return a row in which contents that a cell changes are also in base64."""
    for name, encoded in zip(CONTENTS, BYTES, strict=True):
        text = row.get(name)
        if text is not None and not row[encoded] and spreadsheets.format_cell(text) != text:
            row[encoded] = b64encode(text.encode()).decode()
    return row


def _format_markdown(rows, columns):
    for row in map(_flatten, rows):
        plain = [name for name in (*FIELDS, *FLAT) if name not in ("created_at", "target_file", "status")]
        lines = [f"- {name}: {_format_inline(row[name])}\n" for name in plain if row[name] not in (None, "")]
        blocks = [_format_fenced(name, row[name]) for name in columns[len(FIELDS) + len(FLAT) :] if row[name]]
        heading = f"## {clock.format_utc(row['created_at'])}: {row['target_file'] or '–'}, {row['status']}\n\n"
        yield "".join((heading, *lines, "\n", *blocks))


def _format_inline(value):
    """Return a value as code on one line, without markup and with nothing hidden."""
    text = glyphs.to_one_line(str(value))
    return f"{(ticks := _build_ticks(text, 1))} {text} {ticks}"


def _format_fenced(name, text):
    text = glyphs.to_terminal(text)
    fence = _build_ticks(text, 3)
    return f"### {name}\n\n{fence}{'diff' if name == 'diff' else ''}\n{text.removesuffix(chr(10))}\n{fence}\n\n"


def _build_ticks(text, least):
    """Return more backticks in a row than the text has."""
    return "`" * max([least, *(len(run) + 1 for run in re.findall(r"`+", text))])
