"""`episodes append-session-store-receipt`: OpenClaw rotated or cleaned its session store."""

import hashlib

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import clock
from openclaw_web.commands.groups import Outcome

from .. import sensitive_text
from ..events import Limits, WrongEvent, build_event, normalize_scope, parse_moment, parse_name
from ..models import EpisodicEvent
from .append import describe_event, store_event

HELP = gettext_lazy("Append the receipt of maintenance of OpenClaw's session store.")
EXAMPLES = ("episodes append-session-store-receipt --event session_store_cleanup --size-bytes 1048576",)
EVENTS = ("session_store_rotated", "session_store_cleanup")
SESSION, SOURCE, STORE = "openclaw-session-store", "openclaw_session_store_maintenance", "sessions.json"


def add_arguments(parser):
    parser.add_argument("--scope", default="global", metavar="SCOPE", help=_("scope of the event (%(default)s)"))
    parser.add_argument("--agent-id", default="openclaw", metavar="NAME", help=_("name of the actor (%(default)s)"))
    parser.add_argument("--event", default=EVENTS[0], choices=EVENTS, help=_("the act that was done (%(default)s)"))
    parser.add_argument(
        "--store-path", default=STORE, metavar="FILE", help=_("path of the store; only its last part is stored")
    )
    parser.add_argument("--size-bytes", type=int, metavar="N", help=_("size of the store in bytes"))
    parser.add_argument("--backup-count", type=int, metavar="N", help=_("number of copies that are kept"))
    parser.add_argument("--ts-ms", type=int, metavar="MS", help=_("time of the event, in Unix milliseconds (now)"))
    parser.add_argument("--event-id", metavar="ID", help=_("id of the event (from its content)"))


def run(agent, scope, agent_id, event, store_path, size_bytes, backup_count, ts_ms, event_id, **options):
    counts = {"size_bytes": size_bytes, "backup_count": backup_count}
    for name, value in counts.items():
        if value is not None and value < 0:
            raise WrongEvent(f"--{name.replace('_', '-')} must be >= 0")
    scope, actor = normalize_scope(scope or "global"), parse_name(agent_id or "openclaw", "agent_id")
    moment = clock.now_ms() if ts_ms is None else parse_moment(ts_ms)
    store = store_path.replace("\\", "/").rpartition("/")[2].strip() or STORE
    facts = {name: value for name, value in counts.items() if value is not None}
    summary = " ".join([event, f"store={store}", *(f"{name}={value}" for name, value in facts.items())])
    if sensitive_text.is_secret(summary):
        raise WrongEvent("summary appears to contain secret-like content")
    seed = ":".join(map(str, (scope, actor, event, store, moment, size_bytes, backup_count)))
    new_event = build_event(
        type=EpisodicEvent.Type.OPS_OBSERVATION,
        scope=scope,
        session_id=SESSION,
        agent_id=actor,
        summary=summary,
        event_id=(event_id or "").strip() or f"session-store-{hashlib.sha256(seed.encode()).hexdigest()[:24]}",
        ts_ms=moment,
        payload={"event": event, "store_basename": store, **facts},
        refs={"source": SOURCE, "store_basename": store},
        limits=Limits(allows_tool_output=True),  # sizes look like telephone numbers
    )
    stored_event, known = store_event(agent, new_event)
    return Outcome({"event": describe_event(stored_event), **known}, "")
