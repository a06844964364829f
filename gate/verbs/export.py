"""`reflection gate export`: the decisions that fit as one file."""

import json
import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from openclaw_web import reasons, spreadsheets
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.lists.paging import every

from ..lists.decision_list import DECISIONS
from ..looking import seen
from . import agent_of, asked_of, filters

HELP = gettext_lazy("Write decisions to a file, or to standard output.")
EXAMPLES = (
    "reflection gate export --format jsonl --since 2026-11-01 --output decisions.jsonl",
    "reflection gate export --with-context --with-response --format jsonl --output whole.jsonl",
)
FORMATS = ("json", "csv", "jsonl")
CONTEXT, RESPONSE = ("context_state", "context"), ("raw_response",)
FEW = 50  # rows that are read together when each has long texts


def add_arguments(parser):
    parser.add_argument("--format", default="json", choices=FORMATS, help=_("(%(default)s)"))
    parser.add_argument("-o", "--output", metavar="FILE", help=_("file to write (standard output)"))
    parser.add_argument("--with-context", action="store_true", help=_("with what the gate saw"))
    parser.add_argument("--with-response", action="store_true", help=_("with the response of the model"))
    filters(parser)


def run(agent, format, output, with_context, with_response, **options):
    if options["json"] and not output:
        raise WrongUse(_("--json prints only the receipt: name a file for the decisions with --output."))
    columns = [*DECISIONS.fields, *(CONTEXT if with_context else ()), *(RESPONSE if with_response else ())]
    shaped = _rows(agent_of(agent), options, columns)
    if not output:
        return Outcome({"file": None, "format": format, "count": _write(sys.stdout, format, columns, shaped)}, "")
    try:
        with open(output, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a name of the shell's, as it is
            count = _write(file, format, columns, shaped)
    except OSError as exc:
        words = {"file": output, "reason": reasons.of_system(exc)}
        raise WrongUse(_("%(file)s cannot be written: %(reason)s.") % words) from exc
    told = ngettext("%(count)s decision written to %(file)s.", "%(count)s decisions written to %(file)s.", count)
    return Outcome({"file": output, "format": format, "count": count}, told % {"file": output, "count": f"{count:,}"})


def _rows(agent, options, columns):
    """The decisions that fit as dictionaries of these columns; a long response is the handle of an artifact."""
    listing = DECISIONS.fits(agent, **asked_of(options))
    if len(columns) == len(DECISIONS.fields):
        rows = DECISIONS.file(listing.all)
        yield from (DECISIONS.shape(row) for batch in every(rows, order=listing.order) for row in batch)
        return
    for batch in every(listing.all.defer(None), order=listing.order, size=FEW):
        for row in batch:
            known = {name: getattr(row, name) for name in (*DECISIONS.fields, *RESPONSE)}
            if "context" in columns:
                found = seen.of(agent.db, row)
                known |= {"context_state": found.state, "context": found.as_json()}
            yield {name: known[name] for name in columns}


def _json(columns, rows):
    for number, row in enumerate(rows):
        yield f"{',' if number else '['}\n{json.dumps(row, ensure_ascii=False)}"


def _jsonl(columns, rows):
    return (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _csv(columns, rows):
    noted = spreadsheets.noted(columns, ([_cell(row[name]) for name in columns] for row in rows))
    return (spreadsheets.lines([row]).decode() for row in noted)


def _cell(value):
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def _write(file, kind, columns, rows):
    """Write the rows; how many there were."""
    count = 0
    file.write(
        (spreadsheets.MARK + spreadsheets.lines([[*columns, spreadsheets.LONG]])).decode() if kind == "csv" else ""
    )
    for text in {"json": _json, "jsonl": _jsonl, "csv": _csv}[kind](columns, rows):
        file.write(text)
        count += 1
    file.write({"json": "\n]\n" if count else "[]\n"}.get(kind, ""))
    return count
