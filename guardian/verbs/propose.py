"""`reflection guardian run`: has facts proposed by the built-in guardian.

Without --yes it only shows what would be sent where.
"""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from gate.verbs import model_verbs
from openclaw_web.commands.verbs import BY

from ..runner import job, plans
from ..runner.fact_selection import FactChoice

HELP = gettext_lazy("Have writes proposed by this site's guardian. Without --yes, only show what would be sent.")
EXAMPLES = ("reflection guardian run --limit 5", "reflection guardian run --since 2026-03-01 --yes")
FAULTS = ("left", "unanswered", "failed")  # counts of a result that make it a partial one


def add_arguments(parser):
    parser.add_argument("-l", "--limit", type=int, metavar="N", help=_("at most N facts, the newest (all)"))
    parser.add_argument("-s", "--since", metavar="TIME", help=_("decisions at or after this ISO 8601 time"))
    parser.add_argument("-u", "--until", metavar="TIME", help=_("decisions before this ISO 8601 time"))
    parser.add_argument("-S", "--session", metavar="SESSION", help=_("only this session: its ID or key"))
    model_verbs.add_send_options(parser)


def run(agent, dry_run, yes, quiet, **options):
    fact_filters, owner = model_verbs.build_choice(FactChoice, options), agents.get(agent)
    if not yes:
        return describe_fact_plan(plans.plan_run(owner, fact_filters), is_all=dry_run)
    return model_verbs.run_and_report(
        lambda listener: job.run_here(owner, fact_filters.to_params(owner), by=BY, listener=listener),
        is_quiet=quiet,
        faults=FAULTS,
    )


def describe_fact_plan(plan, is_all):
    """Describe what would be sent; the status is 3, since nothing was."""
    rows = (
        (_("Facts"), f"{plan.facts:,}"),
        (_("Withheld"), f"{plan.withheld:,}"),
        (_("Files"), ", ".join(plan.files) or "–"),
    )
    return model_verbs.describe_plan(plan, rows, count=plan.facts, name="run", is_all=is_all)
