"""`reflection guardian run`: have facts proposed by the guardian of this site, once it was said what is sent where."""

import sys

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gate.verbs import agent_of, moment
from jobs.models import JobRun
from jobs.progress import listener_on
from openclaw_web.commands.groups import Failed, Outcome, WrongUse
from openclaw_web.commands.verbs import DONE, PARTLY, REFUSED
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import money

from ..proposing import plans, running
from ..proposing.facts import Asked

BY = "command line"
HELP = gettext_lazy("Have writes proposed by the guardian of this site. Without --yes, only show what would be sent.")
EXAMPLES = ("reflection guardian run --limit 5", "reflection guardian run --since 2026-03-01 --yes")


def add_arguments(parser):
    parser.add_argument("-l", "--limit", type=int, metavar="N", help=_("at most N facts, the newest (all)"))
    parser.add_argument("-s", "--since", metavar="TIME", help=_("decisions at or after this ISO 8601 time"))
    parser.add_argument("-u", "--until", metavar="TIME", help=_("decisions before this ISO 8601 time"))
    parser.add_argument("-S", "--session", metavar="SESSION", help=_("only this session: its ID or key"))
    parser.add_argument("--quiet", action="store_true", help=_("do not show progress"))
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help=_("only show what would be sent"))
    how.add_argument("--yes", action="store_true", help=_("send it"))


def run(agent, session, since, until, limit, dry_run, yes, quiet, **options):
    if limit is not None and limit < 1:
        raise WrongUse(_("--limit must be 1 or more."))
    asked = Asked(session, moment(since, "--since"), moment(until, "--until"), limit)
    found = agent_of(agent)
    if not yes:
        return shown(plans.plan(found, asked), is_all=dry_run)
    with listener_on(sys.stderr, is_quiet=quiet) as listener:
        return sent(running.run_here(found, running.params(found, asked), by=BY, listener=listener))


def shown(plan, is_all):
    """What would be sent; it ends with 3, since nothing was."""
    receipt, words = {"plan": plan.as_json(), "run": None}, _in_words(plan)
    if is_all or not plan.facts:
        return Outcome(receipt, f"{words}\n{plan.problem}".rstrip(), DONE)
    sentence = plan.problem or _("Nothing was sent. Repeat the command with --yes to send this.")
    return Outcome(receipt, f"{words}\n{sentence}", REFUSED, sentence)


def sent(job):
    """What a job came to."""
    if job.state == JobRun.State.REFUSED:
        raise Refused(job.message)
    if job.state != JobRun.State.FINISHED:
        raise Failed(job.message)
    result = orjson.loads(job.result_json)
    is_whole = not (result["left"] or result["unanswered"] or result["failed"])
    status = DONE if is_whole else PARTLY
    return Outcome({"plan": None, "run": result}, result["message"], status, "" if is_whole else result["message"])


def _in_words(plan):
    rows = (
        (_("Facts"), f"{plan.facts:,}"),
        (_("Withheld"), f"{plan.withheld:,}"),
        (_("Files"), ", ".join(plan.files) or "–"),
        (_("Endpoint"), plan.host or "–"),
        (_("Model"), plan.model or "–"),
        (_("Prompt"), plan.prompt_version),
        (_("Estimated tokens"), f"{plan.tokens:,}"),
        (_("Estimated cost"), "–" if plan.cost_usd is None else money(plan.cost_usd)),
        (_("Tokens left today (UTC)"), _("no limit") if plan.left_today is None else f"{plan.left_today:,}"),
    )
    width = max(len(label) for label, _value in rows)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)
