from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import BY

from .. import retention
from ..events import parse_moment, resolve_scope
from . import add_scope, find_agent

HELP = gettext_lazy("Remove events of a scope that are older than their type is kept.")
EXAMPLES = (
    "episodes gc --scope openclaw-mem --dry-run",
    "episodes gc --global --policy tool.result=7 --policy ops.alert=forever",
)


def add_arguments(parser):
    add_scope(parser)
    parser.add_argument("--now-ts-ms", type=int, metavar="MS", help=_("time to count from, in Unix milliseconds (now)"))
    parser.add_argument(
        "--policy",
        action="append",
        metavar="TYPE=DAYS",
        help=_("days that a type is kept this time, or TYPE=forever; repeatable"),
    )
    parser.add_argument("--dry-run", action="store_true", help=_("only count the events that would be removed"))


def run(agent, scope, global_scope, now_ts_ms, policy, dry_run, **options):
    name = resolve_scope(scope, global_scope)
    now_ms = None if now_ts_ms is None else parse_moment(now_ts_ms)
    days = retention.parse_policy(entry for entry in policy or [] if entry.strip())
    agent_row = find_agent(agent)
    if dry_run:
        receipt = {**retention.plan(agent_row, name, days, now_ms=now_ms).as_json(), "dry_run": True}
    else:
        receipt = retention.run(agent_row, name, days, now_ms=now_ms, by=BY).as_json()
    return Outcome(receipt, "")
