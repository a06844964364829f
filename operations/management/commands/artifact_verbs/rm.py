from agents.command_groups import Outcome
from artifacts import receipts, services

from . import checked, db_of

HELP = "Forget that an agent used an artifact; `gc` removes the content when nobody else does."
EXAMPLES = ("artifact rm ocm_artifact:v1:sha256:…",)


def add_arguments(parser):
    parser.add_argument("handle")


def run(handle, agent, **options):
    handle = checked(handle)
    count = services.remove(db_of(agent), handle)
    return Outcome(receipts.removed(handle, count), f"{count} reference(s) removed. The content goes with the next gc.")
