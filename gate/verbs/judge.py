"""`reflection gate run`: have turns judged by the built-in gate, once it was said what is sent where."""

import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.progress import listener_on
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import DONE, PARTLY

from ..deciding import plans, running
from ..deciding.choosing import Asked
from . import agent_of, moment, sending

BY = "command line"
HELP = gettext_lazy("Have turns judged by the built-in gate. Without --yes, only show what would be sent.")
EXAMPLES = ("reflection gate run --limit 20", "reflection gate run --since 2026-03-01 --yes")


def add_arguments(parser):
    parser.add_argument("-l", "--limit", type=int, metavar="N", help=_("at most N turns, the newest (all)"))
    parser.add_argument("-s", "--since", metavar="TIME", help=_("turns at or after this ISO 8601 time"))
    parser.add_argument("-u", "--until", metavar="TIME", help=_("turns before this ISO 8601 time"))
    parser.add_argument("-S", "--session", metavar="SESSION", help=_("only this session: its ID or key"))
    parser.add_argument("--again", action="store_true", help=_("also turns that have a decision"))
    sending.add_choice(parser)


def run(agent, session, since, until, limit, again, dry_run, yes, quiet, **options):
    if limit is not None and limit < 1:
        raise WrongUse(_("--limit must be 1 or more."))
    asked = Asked(session, moment(since, "--since"), moment(until, "--until"), limit, is_again=again)
    found = agent_of(agent)
    return _sent(found, asked, quiet) if yes else _shown(plans.plan(found, asked), is_all=dry_run)


def _shown(plan, is_all):
    rows = ((_("Turns"), f"{plan.turns:,}"), (_("Withheld"), f"{plan.withheld:,}"))
    return sending.shown(plan, rows, count=plan.turns, name="run", is_all=is_all)


def _sent(agent, asked, is_quiet):
    with listener_on(sys.stderr, is_quiet=is_quiet) as listener:
        job = running.run_here(agent, asked, by=BY, listener=listener)
    result = sending.result_of(job)
    is_whole = not (result["left"] or result["unanswered"] or result["malformed"])
    status = DONE if is_whole else PARTLY
    return Outcome({"plan": None, "run": result}, result["message"], status, "" if is_whole else result["message"])
