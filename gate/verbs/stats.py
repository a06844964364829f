"""`reflection gate stats`: sums of decisions by day, week, session, model or prompt version."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web import clock
from openclaw_web.commands.groups import Outcome, check_limit

from ..statistics.figure_format import format_lines, read_table
from . import parse_moment

HELP = gettext_lazy("Show shares, latency, tokens, cost and failures of decisions.")
EXAMPLES = ("reflection gate stats --weekly", "reflection gate stats --by-session --limit 20 --json")


def add_arguments(parser):
    by = parser.add_mutually_exclusive_group()
    for option, name, words in (
        ("--daily", "day", _("by UTC day (the default)")),
        ("--weekly", "week", _("by ISO week")),
        ("--by-session", "session", _("by session")),
        ("--by-model", "model", _("by model")),
        ("--by-prompt", "prompt", _("by version of the prompt")),
    ):
        by.add_argument(option, dest="by", action="store_const", const=name, help=words)
    parser.set_defaults(by="day")
    parser.add_argument("-s", "--since", metavar="DAY", help=_("from this UTC day on, such as 2026-03-11"))
    parser.add_argument("-u", "--until", metavar="DAY", help=_("up to this UTC day, included"))
    parser.add_argument("-l", "--limit", type=int, default=50, metavar="N", help=_("how many rows, 1 to 1000 (50)"))


def run(agent, by, since, until, limit, **options):
    check_limit(limit)
    first, last = _parse_day(since, "--since"), _parse_day(until, "--until")
    rows = read_table(agents.get(agent).db, by=by, since=first, until=last, limit=limit)
    return Outcome({"by": by, "rows": rows}, "\n".join(format_lines(rows, by=by)) if rows else _("No decisions."))


def _parse_day(text, option):
    at = parse_moment(text, option)
    return None if at is None else clock.day_of(at)
