from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import BY

from .. import retention
from ..events import resolve_scope
from . import add_scope, find_agent

HELP = gettext_lazy("Show how long the events of a scope are kept, and change it.")
EXAMPLES = ("episodes policy --scope openclaw-mem", "episodes policy --global --set ops.alert=180")


def add_arguments(parser):
    add_scope(parser)
    parser.add_argument(
        "--set",
        dest="entries",
        action="append",
        default=[],
        metavar="TYPE=DAYS",
        help=_("days that a type is kept in the scope, or TYPE=forever; repeatable"),
    )


def run(agent, scope, global_scope, entries, **options):
    name = resolve_scope(scope, global_scope)
    changes = retention.parse_policy(entries)
    agent_row = find_agent(agent)
    if changes:
        retention.set_policy(agent_row, name, changes, by=BY)
    days = dict(sorted(retention.read_policy(agent_row.db, name).items()))
    lines = [f"{event_type}={'forever' if count is None else count}" for event_type, count in days.items()]
    return Outcome({"scope": name, "changed": sorted(changes), "policy_days": days}, "\n".join(lines))
