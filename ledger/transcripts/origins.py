"""Where a session came from and what it started: schedules, sub-agents, the session that asked for one.

Only keys are read here. What a key leads to (a job, a run) is on pages of other apps, which are linked by address.
"""

import re
from dataclasses import dataclass
from typing import Any

import orjson

from agents.services import AGENT_ID
from openclaw_web.sqlite.json_columns import decode

from ..collectors.senders import is_opted_out
from ..collectors.session_index import NAMED_ORIGINS, parse_session_key
from ..models import Session

KEY = re.compile(r"agent:([^:]{1,64}):(cron|subagent):(.{1,400})", re.DOTALL)
SPAWNERS = frozenset({"sessions_spawn"})
LONGEST = 100_000  # characters of an answer that may name a child
ONE_PERSON_ORIGINS = frozenset({"direct", *NAMED_ORIGINS})  # where one person at most speaks, or a program
GROUPS = ("group", "channel", "room", "thread")
PARENT_NAMES = ("spawnedBy", "parentSessionKey", "requesterSessionKey")


def is_group(session: Session) -> bool:
    """Whether several people may speak in a session; true as well when its origin cannot be told."""
    origin = parse_session_key(session.session_key)[0] if session.session_key else session.origin
    return origin not in ONE_PERSON_ORIGINS or decode_metadata(session.metadata).get("chatType") in GROUPS


def is_direct_with(session: Session, names: frozenset[str]) -> bool:
    """Whether a session is a direct conversation with one of these people: all that was said in it is theirs."""
    origin, _channel, target = (
        parse_session_key(session.session_key) if session.session_key else (session.origin, None, None)
    )
    if origin != "direct":
        return False
    return is_opted_out({target, session.conversation_target, *find_people(decode_metadata(session.metadata))}, names)


def find_people(metadata: dict[str, Any]) -> set[str]:
    """What the index calls the person of a direct conversation, besides its key."""
    found = metadata.get("origin")
    told = found if isinstance(found, dict) else {}
    return {name for key in ("from", "to", "label") if isinstance(name := told.get(key), str)}


def decode_metadata(metadata: str | None) -> dict[str, Any]:
    """What the index said of a session, from the column `metadata`; empty for anything that is no object."""
    return decode(metadata)


@dataclass(slots=True)
class Origin:
    """`kind` is cron, subagent or empty; `key` the session's own; `parent` the session that asked, when it is here.

    `parent_key` is kept also when no session here has it.
    """

    kind: str = ""
    key: str = ""
    job_id: str = ""
    parent_key: str = ""
    parent: Session | None = None


@dataclass(slots=True)
class Child:
    """A session that a tool call started, maybe of another agent; `session_id` is empty when it is not here."""

    key: str
    agent_id: str
    session_id: str = ""


def read_origin(session: Session) -> Origin:
    """Where a session came from, by its key and by what its index said."""
    found = Origin(key=session.session_key or "")
    if match := KEY.fullmatch(found.key):
        found.kind = match[2]
        found.job_id = match[3].partition(":")[0] if found.kind == "cron" else ""
    if session.metadata and any(f'"{name}"' in session.metadata for name in PARENT_NAMES):
        said = decode_metadata(session.metadata)
        keys = (said.get(name) for name in PARENT_NAMES)
        found.parent_key = next((key[:500] for key in keys if isinstance(key, str) and key), "")
    if found.parent_key:
        found.parent = _with_key(session, [found.parent_key]).first()
    return found


def link_children(session: Session, sections) -> None:
    """Give every call on a page (timeline.Section) that started a sub-agent its `child`; one query, if any did."""
    calls = [call for section in sections for entry in section.entries for call in entry.calls]
    spawned = [(call, key) for call in calls if call.name in SPAWNERS and call.result and (key := _child_key(call))]
    if not spawned:
        return
    known = dict(_with_key(session, {key for _, key in spawned}).values_list("session_key", "id"))
    for call, key in spawned:
        agent = key.split(":", 2)[1]
        call.child = Child(key, agent if AGENT_ID.fullmatch(agent) else "", known.get(key, ""))


def _with_key(session, keys):
    rows = Session.objects.using(session._state.db).filter(session_key__in=keys)
    return rows.order_by("last_activity_at").only("id", "title", "session_key")


def _child_key(call):
    """The key of the session that a call says it started."""
    text = call.result.text
    if text.is_cut or len(text.text) > LONGEST:
        return ""
    try:
        said = orjson.loads(text.text)
    except orjson.JSONDecodeError:
        return ""
    key = said.get("childSessionKey") if isinstance(said, dict) else None
    return key if isinstance(key, str) and KEY.fullmatch(key) else ""
