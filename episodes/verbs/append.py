import dataclasses
import json

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome

from ..append import EventExists, append
from ..events import PAYLOAD_BYTES, REFS_BYTES, Limits, NewEvent, WrongEvent, build_event, check_own_id
from ..models import REDACTED, SCHEMA_VERSION, EpisodicEvent
from . import find_agent, get_path

HELP = gettext_lazy("Append an event to the ledger.")
EXAMPLES = (
    "episodes append --scope openclaw-mem --session-id sess-001 --agent-id lyria --type ops.decision "
    "--summary 'Keep raw files' --payload-json '{\"why\": \"import\"}' --json",
)
MOST_FILE_BYTES = 16 * 1024 * 1024


def add_arguments(parser):
    parser.add_argument("--event-id", metavar="ID", help=_("id of the event (a new UUID)"))
    parser.add_argument("--ts-ms", type=int, metavar="MS", help=_("time of the event, in Unix milliseconds (now)"))
    parser.add_argument("--scope", required=True, metavar="SCOPE", help=_("scope of the event"))
    parser.add_argument("--session-id", required=True, metavar="ID", help=_("id of the session or run"))
    parser.add_argument("--agent-id", required=True, metavar="NAME", help=_("name of the actor"))
    parser.add_argument("--type", required=True, metavar="TYPE", help=_("type of the event, such as tool.result"))
    parser.add_argument("--summary", required=True, metavar="TEXT", help=_("summary, at most 1000 characters"))
    for name in ("payload", "refs"):
        words = {"name": name}
        parser.add_argument(f"--{name}-json", metavar="JSON", help=_("%(name)s as JSON") % words)
        parser.add_argument(f"--{name}-file", metavar="FILE", help=_("file with the %(name)s as JSON") % words)
    for name, most in (("payload", PAYLOAD_BYTES), ("refs", REFS_BYTES)):
        parser.add_argument(
            f"--{name}-cap-bytes",
            type=int,
            default=most,
            metavar="N",
            help=_("bytes that the %(name)s may have, at most %(most)s") % {"name": name, "most": most},
        )
    parser.add_argument("--allow-tool-output", action="store_true", help=_("accept tool output and sensitive texts"))


def run(agent, allow_tool_output, payload_cap_bytes, refs_cap_bytes, **options):
    payload = _parse_value("payload", options["payload_json"], options["payload_file"])
    refs = _parse_value("refs", options["refs_json"], options["refs_file"])
    names = ("type", "scope", "session_id", "agent_id", "summary", "event_id", "ts_ms")
    check_own_id(options.get("event_id"))
    event = build_event(
        **{name: options[name] for name in names},
        payload=payload,
        refs=refs,
        limits=Limits(payload_cap_bytes, refs_cap_bytes, allow_tool_output),
    )
    event, known = store_event(agent, event)
    present = {"payload_present": event.payload_json is not None, "refs_present": event.refs_json is not None}
    caps = {
        "payload_cap_bytes": min(payload_cap_bytes, PAYLOAD_BYTES),
        "refs_cap_bytes": min(refs_cap_bytes, REFS_BYTES),
    }
    return Outcome({"event": {**describe_event(event), **present}, "caps": caps, **known}, "")


def store_event(agent: str, event: NewEvent) -> tuple[NewEvent, dict[str, bool]]:
    """Append an event; return it as it is stored, and the keys of a known one.

    Raises EventExists when the id is that of another event.
    """
    db = find_agent(agent, create=True).db
    try:
        result = append(db, [event])
    except EventExists as exc:
        exc.reasons = [{"id": event.event_id, "reason": _("Another event has this id.")}]
        raise
    return (_read_known(db, event), {"known": True}) if result.known else (event, {})


def _read_known(db, event):
    row = EpisodicEvent.objects.using(db).only("ts_ms", "redacted").get(event_id=event.event_id)
    event = dataclasses.replace(event, ts_ms=row.ts_ms)
    if not row.redacted:
        return event
    return dataclasses.replace(event, summary=REDACTED, payload_json=None, refs_json=None, is_redacted=True)


def describe_event(event: NewEvent) -> dict[str, object]:
    """Return the keys of an event in the receipt of an append."""
    return {
        "event_id": event.event_id,
        "ts_ms": event.ts_ms,
        "scope": event.scope,
        "session_id": event.session_id,
        "agent_id": event.agent_id,
        "type": event.type,
        "summary": event.summary,
        "payload_bytes": len((event.payload_json or "").encode()),
        "refs_bytes": len((event.refs_json or "").encode()),
        "schema_version": SCHEMA_VERSION,
        "redacted": event.is_redacted,
    }


def _parse_value(label, text, file):
    """Parse the JSON of an option or a file; None without both. Raises WrongEvent."""
    if text and file:
        raise WrongEvent(f"provide only one of --{label}-json or --{label}-file")
    if not text and not file:
        return None
    data = text.encode(errors="surrogatepass") if text else _read_file(label, file)
    try:
        # The first one refuses numbers and texts that JSON does not have; the second one does not round whole numbers.
        orjson.loads(data)
        return json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise WrongEvent(f"invalid {label} JSON") from exc


def _read_file(label, name):
    path = get_path(name)
    try:
        if not path.is_file():
            raise WrongEvent(f"{label} file not found: {path}")
        with path.open("rb") as file:
            data = file.read(MOST_FILE_BYTES + 1)
    except (OSError, ValueError) as exc:
        raise WrongEvent(f"{label} file cannot be read: {path}") from exc
    if len(data) > MOST_FILE_BYTES:
        raise WrongEvent(f"{label} file is larger than {MOST_FILE_BYTES} bytes: {path}")
    return data
