"""`reflection guardian run`: have facts proposed by the built-in guardian, once it was said what is sent where."""

import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gate.verbs import agent_of, moment, sending
from jobs.progress import listener_on
from openclaw_web.commands import typed
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import DONE, PARTLY

from ..proposing import plans, running
from ..proposing.facts import Asked
from . import BY

HELP = gettext_lazy("Have writes proposed by the built-in guardian. Without --yes, only show what would be sent.")
EXAMPLES = ("reflection guardian run --limit 5", "reflection guardian run --since 2026-03-01 --yes")


def add_arguments(parser):
    parser.add_argument("-l", "--limit", type=int, metavar="N", help=_("at most N facts, the newest (all)"))
    parser.add_argument("-s", "--since", metavar="TIME", help=_("decisions at or after this ISO 8601 time"))
    parser.add_argument("-u", "--until", metavar="TIME", help=_("decisions before this ISO 8601 time"))
    parser.add_argument(
        "-S", "--session", type=typed.text, metavar="SESSION", help=_("only this session: its ID or key")
    )
    sending.add_choice(parser)


def run(agent, session, since, until, limit, dry_run, yes, quiet, **options):
    if limit is not None and limit < 1:
        raise WrongUse(_("--limit must be 1 or more."))
    asked = Asked(session, moment(since, "--since"), moment(until, "--until"), limit)
    found = agent_of(agent)
    if not yes:
        return shown(plans.plan(found, asked), is_all=dry_run)
    with listener_on(sys.stderr, is_quiet=quiet) as listener:
        return sent(running.run_here(found, asked.params(found), by=BY, listener=listener))


def shown(plan, is_all):
    """What would be sent; it ends with 3, since nothing was."""
    rows = (
        (_("Facts"), f"{plan.facts:,}"),
        (_("Withheld"), f"{plan.withheld:,}"),
        (_("Files"), ", ".join(plan.files) or "–"),
    )
    return sending.shown(plan, rows, count=plan.facts, name="run", is_all=is_all)


def sent(job):
    """What a job came to."""
    result = sending.result_of(job)
    is_whole = not (result["left"] or result["unanswered"] or result["failed"])
    status = DONE if is_whole else PARTLY
    return Outcome({"plan": None, "run": result}, result["message"], status, "" if is_whole else result["message"])
