from artifacts import receipts, services

from . import db_of

HELP = "Forget that an agent used an artifact; `gc` removes the content when nobody else does."


def add_arguments(parser):
    parser.add_argument("handle")


def run(handle, agent, **options):
    handle = handle.strip()
    count = services.remove(db_of(agent), handle)
    return receipts.removed(handle, count), f"{count} reference(s) removed. The content goes with the next gc.", 0
