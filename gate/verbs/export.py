"""`reflection gate export`: the decisions that fit as one file."""

import json
import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from openclaw_web import reasons, spreadsheets
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.lists.paging import every

from ..lists.decision_list import DECISIONS
from . import agent_of, asked_of, filters

HELP = gettext_lazy("Write decisions to a file, or to standard output.")
EXAMPLES = ("reflection gate export --format jsonl --since 2026-11-01 --output decisions.jsonl",)
FORMATS = ("json", "csv", "jsonl")


def add_arguments(parser):
    parser.add_argument("--format", default="json", choices=FORMATS, help=_("(%(default)s)"))
    parser.add_argument("-o", "--output", metavar="FILE", help=_("file to write (standard output)"))
    filters(parser)


def run(agent, format, output, **options):
    if options["json"] and not output:
        raise WrongUse(_("--json prints only the receipt: name a file for the decisions with --output."))
    listing = DECISIONS.fits(agent_of(agent), **asked_of(options))
    rows = DECISIONS.file(listing.all)
    shaped = (DECISIONS.shape(row) for batch in every(rows, order=listing.order) for row in batch)
    if not output:
        return Outcome({"file": None, "format": format, "count": _write(sys.stdout, format, shaped)}, "")
    try:
        with open(output, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a name of the shell's, as it is
            count = _write(file, format, shaped)
    except OSError as exc:
        words = {"file": output, "reason": reasons.of_system(exc)}
        raise WrongUse(_("%(file)s cannot be written: %(reason)s.") % words) from exc
    told = ngettext("%(count)s decision written to %(file)s.", "%(count)s decisions written to %(file)s.", count)
    return Outcome({"file": output, "format": format, "count": count}, told % {"file": output, "count": f"{count:,}"})


def _json(rows):
    for number, row in enumerate(rows):
        yield f"{',' if number else '['}\n{json.dumps(row, ensure_ascii=False)}"


def _jsonl(rows):
    return (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _csv(rows):
    noted = spreadsheets.noted(DECISIONS.fields, ([row[name] for name in DECISIONS.fields] for row in rows))
    return (spreadsheets.lines([row]).decode() for row in noted)


def _write(file, kind, rows):
    """Write the rows; how many there were."""
    count = 0
    file.write(
        (spreadsheets.MARK + spreadsheets.lines([[*DECISIONS.fields, spreadsheets.LONG]])).decode()
        if kind == "csv"
        else ""
    )
    for text in {"json": _json, "jsonl": _jsonl, "csv": _csv}[kind](rows):
        file.write(text)
        count += 1
    file.write({"json": "\n]\n" if count else "[]\n"}.get(kind, ""))
    return count
