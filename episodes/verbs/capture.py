from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gate.verbs import parse_moment
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY

from ..capture import services, switches
from . import find_agent

HELP = gettext_lazy("Show whether events of an agent are captured automatically, change it, or capture now.")
EXAMPLES = ("episodes capture --agent main", "episodes capture --on --since 2026-11-01", "episodes capture --now")


def add_arguments(parser):
    switch = parser.add_mutually_exclusive_group()
    switch.add_argument("--on", dest="is_on", action="store_true", default=None, help=_("capture from now on"))
    switch.add_argument("--off", dest="is_on", action="store_false", help=_("capture nothing; events are kept"))
    parser.add_argument("--since", metavar="TIME", help=_("with --on: from this ISO 8601 time (now)"))
    parser.add_argument("--scope", metavar="SCOPE", help=_("scope of captured events; empty: agent:NAME"))
    outputs = parser.add_mutually_exclusive_group()
    outputs.add_argument(
        "--allow-tool-output", action="store_true", default=None, help=_("store arguments and results of tools as well")
    )
    outputs.add_argument(
        "--no-tool-output",
        dest="allow_tool_output",
        action="store_false",
        help=_("store which tools were called, without arguments and results"),
    )
    parser.add_argument("--now", action="store_true", help=_("capture at once, instead of at the next import"))


def run(agent, is_on, since, scope, allow_tool_output, now, **options):
    since_ms = parse_moment(since, "--since")
    agent_row = find_agent(agent)
    capture = switches.read_capture(agent_row.db)
    if since is not None and not (capture.is_on if is_on is None else is_on):
        raise WrongUse(_("--since needs --on: capture is off."))
    if (is_on, since, scope, allow_tool_output) != (None,) * 4:
        capture = switches.set_capture(
            agent_row,
            is_on=capture.is_on if is_on is None else is_on,
            scope=capture.scope if scope is None else scope,
            allows_tool_output=capture.allows_tool_output if allow_tool_output is None else allow_tool_output,
            by=BY,
            since_ms=since_ms,
        )
    receipt = {
        "agent": agent_row.agent_id,
        "is_on": capture.is_on,
        "scope": switches.build_scope(agent_row, capture),
        "allows_tool_output": capture.allows_tool_output,
        "since_ms": capture.positions.get(switches.START_MS),
    }
    if now:
        receipt["captured"] = services.capture_agent(agent_row)
    return Outcome(receipt, "")
