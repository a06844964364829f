"""`reflection dataset score`: has samples scored by a model, after a preview."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from agents.runners.choice import Choice
from gate.verbs import model_verbs
from openclaw_web.commands.verbs import BY

from ..model_scores import scoring

HELP = gettext_lazy("Have samples scored by a language model. Without --yes, only show what would be sent.")
EXAMPLES = ("reflection dataset score --agent main --limit 20", "reflection dataset score --agent main --yes")


def add_arguments(parser):
    parser.add_argument("--agent", required=True, metavar="NAME", help=_("the agent whose samples are scored"))
    parser.add_argument("-l", "--limit", type=int, metavar="N", help=_("at most N samples, the newest (all)"))
    parser.add_argument("-s", "--since", metavar="TIME", help=_("samples created at or after this ISO 8601 time"))
    parser.add_argument("-u", "--until", metavar="TIME", help=_("samples created before this ISO 8601 time"))
    parser.add_argument("-S", "--session", metavar="SESSION", help=_("only this session: its ID or key"))
    model_verbs.add_send_options(parser)


def run(agent, dry_run, yes, quiet, **options):
    choice, owner = model_verbs.build_choice(Choice, options), agents.get(agent)
    if not yes:
        plan = scoring.plan_run(owner, choice)
        rows = ((_("Samples"), f"{plan.samples:,}"),)
        return model_verbs.describe_plan(plan, rows, count=plan.samples, name="run", is_all=dry_run)
    return model_verbs.run_and_report(
        lambda listener: scoring.run_here(owner, choice, by=BY, listener=listener),
        is_quiet=quiet,
        faults=("left", "unanswered", "malformed"),
    )
