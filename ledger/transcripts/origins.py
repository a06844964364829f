"""The origin of a session.

Origins are schedules, sub-agents, and the session that requested one. Only keys are read here. The job or run that a
key leads to is on pages of other apps, which are linked by address.
"""

import re
from dataclasses import dataclass
from typing import Any

from openclaw_web.sqlite.json_columns import decode

from ..collectors import answers
from ..collectors.answers import Conversation, build_conversation
from ..collectors.senders import is_opted_out
from ..collectors.session_index import NAMED_ORIGINS, parse_session_key
from ..models import Session

KEY = re.compile(r"agent:([^:]{1,64}):(cron|subagent):(.{1,400})", re.DOTALL)
SPAWNERS = frozenset({"sessions_spawn"})
STARTERS = SPAWNERS | {"cron", "sessions_send", *answers.SENDERS}  # tools whose calls start or send something
ONE_PERSON_ORIGINS = frozenset({"direct", *NAMED_ORIGINS})  # where one person at most speaks, or a program
GROUPS = ("group", "channel", "room", "thread")
PARENT_NAMES = ("spawnedBy", "parentSessionKey", "requesterSessionKey")


def is_group(session: Session) -> bool:
    """Whether several people may speak in a session, or its origin is unknown."""
    origin = parse_session_key(session.session_key)[0] if session.session_key else session.origin
    return origin not in ONE_PERSON_ORIGINS or decode_metadata(session.metadata).get("chatType") in GROUPS


def find_conversation(session: Session) -> Conversation:
    """The conversation that a session is part of, for `answers.find_answer`."""
    metadata = decode_metadata(session.metadata)
    origin, _channel, target = parse_session_key(session.session_key or "")
    is_of_group = (origin if session.session_key else session.origin) in GROUPS or metadata.get("chatType") in GROUPS
    names = (target, session.conversation_target, *map(metadata.get, ("groupId", "groupChannel", "conversationRef")))
    own_names = [str(name) for name in (*names, *find_people(metadata)) if name]
    return build_conversation(is_of_group, own_names, metadata.get("outcomes"))


def is_direct_with(session: Session, names: frozenset[str]) -> bool:
    """Whether a session is a direct conversation with one of these people.

    Then all of its words are theirs.
    """
    origin, _channel, target = (
        parse_session_key(session.session_key) if session.session_key else (session.origin, None, None)
    )
    if origin != "direct":
        return False
    return is_opted_out({target, session.conversation_target, *find_people(decode_metadata(session.metadata))}, names)


def find_people(metadata: dict[str, Any]) -> set[str]:
    """The names that an index gives the person of a direct conversation, besides its key."""
    origin = metadata.get("origin")
    names = origin if isinstance(origin, dict) else {}
    return {name for key in ("from", "to", "label") if isinstance(name := names.get(key), str)}


def decode_metadata(metadata: str | None) -> dict[str, Any]:
    """The index's metadata of a session; empty for anything that is no object.

    `metadata` is the column of that name.
    """
    return decode(metadata)


@dataclass(slots=True)
class Origin:
    """The origin of a session: a schedule, or the session that started it.

    `kind` is cron, subagent or empty; `key` is the session's own. `parent` is the session that requested it, when it is
    stored; `parent_key` is set also when it is not.
    """

    kind: str = ""
    key: str = ""
    job_id: str = ""
    parent_key: str = ""
    parent: Session | None = None


def read_origin(session: Session) -> Origin:
    """The origin of a session, by its key and its index metadata."""
    origin = Origin(key=session.session_key or "")
    if match := KEY.fullmatch(origin.key):
        origin.kind = match[2]
        origin.job_id = match[3].partition(":")[0] if origin.kind == "cron" else ""
    if session.metadata and any(f'"{name}"' in session.metadata for name in PARENT_NAMES):
        metadata = decode_metadata(session.metadata)
        keys = (metadata.get(name) for name in PARENT_NAMES)
        origin.parent_key = next((key[:500] for key in keys if isinstance(key, str) and key), "")
    if origin.parent_key:
        rows = Session.objects.using(session._state.db).filter(session_key=origin.parent_key)
        origin.parent = rows.order_by("last_activity_at").only("id", "title", "session_key").first()
    return origin
