from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import BY

from .. import redaction
from . import add_scope, find_agent

HELP = gettext_lazy("Remove the texts of an event, or of all events of a session; their rows remain.")
EXAMPLES = (
    "episodes redact --event-id 710e8a16-58d7-4665-8f7c-5beb42f5be80 --scope openclaw-mem --dry-run",
    "episodes redact --session-id sess-003 --scope team-b --replacement null",
)


def add_arguments(parser):
    parser.add_argument("--event-id", metavar="ID", help=_("redact this event"))
    parser.add_argument("--session-id", metavar="ID", help=_("redact every event of this session"))
    add_scope(parser)
    parser.add_argument(
        "--replacement",
        choices=list(redaction.REPLACEMENTS),
        default="placeholder",
        help=_("replacement of the payload (%(default)s)"),
    )
    parser.add_argument("--dry-run", action="store_true", help=_("only count the events that would be redacted"))


def run(agent, scope, global_scope, event_id, session_id, replacement, dry_run, **options):
    request = redaction.Redaction.parse(
        scope, is_global=global_scope, event_id=event_id, session_id=session_id, replacement=replacement
    )
    agent_row = find_agent(agent)
    count = redaction.count(agent_row, request) if dry_run else redaction.redact(agent_row, request, by=BY)
    target = {"event_id": request.event_id, "session_id": request.session_id, "scope": request.scope}
    preview = {"dry_run": True} if dry_run else {}
    return Outcome({"target": target, "replacement": replacement, "redacted_count": count, **preview}, "")
