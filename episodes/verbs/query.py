from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome

from ..queries import MOST_ROWS, EventQuery, read_events
from . import add_payload, add_scope, bound, find_agent

HELP = gettext_lazy("Print events of a scope in the order of their time.")
EXAMPLES = (
    "episodes query --scope openclaw-mem --limit 20 --json",
    "episodes query --global --type tool.call,tool.result --include-payload --json",
)


def add_arguments(parser):
    add_scope(parser)
    parser.add_argument("--session-id", metavar="ID", help=_("only this session"))
    parser.add_argument("--from-ts-ms", type=int, metavar="MS", help=_("at or after this time, in Unix milliseconds"))
    parser.add_argument("--to-ts-ms", type=int, metavar="MS", help=_("at or before this time, in Unix milliseconds"))
    parser.add_argument(
        "--type", dest="types", action="append", metavar="TYPE", help=_("only this type; repeatable, or with commas")
    )
    parser.add_argument("--limit", type=int, default=50, metavar="N", help=_("events to print, at most 500 (50)"))
    add_payload(parser)


def run(agent, scope, global_scope, session_id, from_ts_ms, to_ts_ms, types, limit, include_payload, **options):
    query = EventQuery.parse(
        scope,
        is_global=global_scope,
        session_id=session_id,
        from_ts_ms=from_ts_ms,
        to_ts_ms=to_ts_ms,
        types=types,
    )
    bounded = bound(limit, MOST_ROWS)
    items, has_more = read_events(find_agent(agent).db, query, limit=bounded, with_payload=include_payload)
    filters = {
        "session_id": query.session_id,
        "from_ts_ms": query.from_ts_ms,
        "to_ts_ms": query.to_ts_ms,
        "types": list(query.types),
        "limit": bounded,
        "include_payload": include_payload,
    }
    cut = describe_cut(limit, has_more)
    return Outcome({"scope": query.scope, "filters": filters, "count": len(items), **cut, "items": items}, "")


def describe_cut(limit: int, has_more: bool) -> dict[str, bool]:
    """Return the keys that say that an answer is not everything; none for a complete answer."""
    keys = {"limit_cut": limit > MOST_ROWS, "has_more": has_more}
    return {name: value for name, value in keys.items() if value}
