from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome

from ..events import parse_name
from ..queries import MOST_ROWS, EventQuery, read_events, read_removals
from . import add_payload, add_scope, bound, find_agent
from .query import describe_cut

HELP = gettext_lazy("Print the events of a session in the order of their time, and what retention removed.")
EXAMPLES = ("episodes replay sess-001 --scope openclaw-mem --json",)


def add_arguments(parser):
    parser.add_argument("session_id", metavar="SESSION", help=_("id of the session"))
    add_scope(parser)
    parser.add_argument("--limit", type=int, default=200, metavar="N", help=_("events to print, at most 500 (200)"))
    add_payload(parser)


def run(agent, session_id, scope, global_scope, limit, include_payload, **options):
    query = EventQuery.parse(scope, is_global=global_scope, session_id=parse_name(session_id, "session_id"))
    bounded, db = bound(limit, MOST_ROWS), find_agent(agent).db
    items, has_more = read_events(db, query, limit=bounded, with_payload=include_payload)
    facts = {
        "scope": query.scope,
        "session_id": query.session_id,
        "count": len(items),
        "limit": bounded,
        "include_payload": include_payload,
        # Removals name no session: they are those of the scope that may have taken events since the first one.
        "gaps": read_removals(db, query.scope, items[0]["ts_ms"] if items else 0),
    }
    return Outcome({**facts, **describe_cut(limit, has_more), "items": items}, "")
