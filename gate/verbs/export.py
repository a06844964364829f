"""`reflection gate export`: writes the decisions that fit to a file."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.commands import row_files
from openclaw_web.commands.groups import WrongUse
from openclaw_web.lists.paging import read_batches

from ..detail import window_state
from ..lists.decision_list import DECISIONS
from . import add_filters, parse_filters

HELP = gettext_lazy("Write decisions to a file, or to standard output.")
EXAMPLES = (
    "reflection gate export --format jsonl --since 2026-11-01 --output decisions.jsonl",
    "reflection gate export --with-context --with-response --format jsonl --output whole.jsonl",
)
FORMATS = ("json", "csv", "jsonl")
WRITTEN = ngettext_lazy("%(count)s decision written to %(file)s.", "%(count)s decisions written to %(file)s.", "number")
CONTEXT, RESPONSE = ("context_state", "context"), ("raw_response",)
BATCH_SIZE = 50  # rows that are read at once when each has long texts


def add_arguments(parser):
    parser.add_argument("--format", default="json", choices=FORMATS, help=_("(%(default)s)"))
    parser.add_argument("-o", "--output", metavar="FILE", help=_("file to write (standard output)"))
    parser.add_argument("--with-context", action="store_true", help=_("with what the gate saw"))
    parser.add_argument("--with-response", action="store_true", help=_("with the response of the model"))
    add_filters(parser)


def run(agent, format, output, with_context, with_response, **options):
    if options["json"] and not output:
        raise WrongUse(_("--json prints only the receipt: name a file for the decisions with --output."))
    columns = [*DECISIONS.fields, *(CONTEXT if with_context else ()), *(RESPONSE if with_response else ())]
    texts = row_files.format_rows(format, columns, _read_rows(agents.get(agent), options, columns))
    return row_files.write_rows(output, format, columns, texts, WRITTEN)


def _read_rows(agent, options, columns):
    """Yield the decisions that fit as dictionaries of these columns.

    A long response is the handle of an artifact.
    """
    listing = DECISIONS.fits(agent, **parse_filters(options))
    if len(columns) == len(DECISIONS.fields):
        rows = listing.all.values(*columns, "place")
        batches = read_batches(rows, order=listing.order)
        yield from ({name: row[name] for name in columns} for batch in batches for row in batch)
        return
    for batch in read_batches(listing.all.defer(None), order=listing.order, size=BATCH_SIZE):
        for row in batch:
            values = {name: getattr(row, name) for name in (*DECISIONS.fields, *RESPONSE)}
            if "context" in columns:
                seen_window = window_state.read_window_state(agent.db, row)
                values |= {"context_state": seen_window.state, "context": seen_window.as_json()}
            yield {name: values[name] for name in columns}
