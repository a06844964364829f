"""`reflection gate run`: judges turns with the built-in gate, after a preview."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web.commands.verbs import BY

from ..runner import job, plans
from ..runner.turn_selection import TurnChoice
from . import model_verbs

HELP = gettext_lazy("Have turns judged by this site's gate. Without --yes, only show what would be sent.")
EXAMPLES = ("reflection gate run --limit 20", "reflection gate run --since 2026-03-01 --yes")


def add_arguments(parser):
    parser.add_argument("-l", "--limit", type=int, metavar="N", help=_("at most N turns, the newest (all)"))
    parser.add_argument("-s", "--since", metavar="TIME", help=_("turns at or after this ISO 8601 time"))
    parser.add_argument("-u", "--until", metavar="TIME", help=_("turns before this ISO 8601 time"))
    parser.add_argument("-S", "--session", metavar="SESSION", help=_("only this session: its ID or key"))
    parser.add_argument("--again", action="store_true", help=_("also turns that have a decision"))
    model_verbs.add_send_options(parser)


def run(agent, again, dry_run, yes, quiet, **options):
    choice, owner = model_verbs.build_choice(TurnChoice, options, is_again=again), agents.get(agent)
    if not yes:
        plan = plans.plan_run(owner, choice)
        rows = ((_("Turns"), f"{plan.turns:,}"), (_("Withheld"), f"{plan.withheld:,}"))
        return model_verbs.describe_plan(plan, rows, count=plan.turns, name="run", is_all=dry_run)
    return model_verbs.run_and_report(
        lambda listener: job.run_here(owner, choice, by=BY, listener=listener),
        is_quiet=quiet,
        faults=("left", "unanswered", "malformed"),
    )
