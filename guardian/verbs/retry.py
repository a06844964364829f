"""`reflection guardian retry`: has a write proposed again, with another fact or file."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from gate.verbs import model_verbs
from openclaw_web.commands.verbs import BY

from ..files import MEMORY_FILES
from ..runner import fact_handler, job, plans
from .propose import FAULTS, describe_fact_plan

HELP = gettext_lazy("Have a write proposed again by this site's guardian. Without --yes, only show what is sent.")
EXAMPLES = (
    'reflection guardian retry ID --fact "Likes tea." --yes',
    "reflection guardian retry ID --file USER.md",
)


def add_arguments(parser):
    parser.add_argument("audit", metavar="AUDIT", help=_("ID of a write"))
    parser.add_argument("--fact", metavar="FACT", help=_("another fact (that of the write)"))
    parser.add_argument("--file", metavar="FILE", choices=MEMORY_FILES, help=_("another file (that of the write)"))
    model_verbs.add_send_options(parser)


def run(agent, audit, fact, file, dry_run, yes, quiet, **options):
    owner = agents.get(agent)
    request = fact_handler.build_retry(owner, audit, fact=fact, file=file, by=BY)
    if not yes:
        return describe_fact_plan(plans.plan_fact(owner, request.candidate_fact, request.target_file), is_all=dry_run)
    return model_verbs.run_and_report(
        lambda listener: job.run_retry_here(owner, request, by=BY, listener=listener), is_quiet=quiet, faults=FAULTS
    )
