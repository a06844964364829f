"""A new event and its rules (spec of the episodic ledger, v0)."""

import re
import uuid
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.normal_forms import to_nfkc

from . import sensitive_text
from .models import RUN_SESSION, EpisodicEvent

TYPES = tuple(sorted(EpisodicEvent.Type.values))
GLOBAL = "global"  # the name of the scope that `--global` means
PAYLOAD_BYTES, REFS_BYTES = 8_192, 4_096
SUMMARY_CHARACTERS, NAME_CHARACTERS, SCOPE_CHARACTERS = 1_000, 500, 200
MOST_DEPTH = 64  # of nested JSON
EARLIEST_MS, LATEST_MS = 1, 253_402_300_799_999  # the end of the year 9999
EVENT_ID = re.compile(r"[!-~]{1,128}")
OWN_ID = re.compile(r"ep-[0-9a-f]{32}|retention-.*")
SURROGATES = re.compile("[\ud800-\udfff]")


class WrongEvent(Refused):
    """An event that the ledger does not take.

    `index` is its place in a batch, from 0.
    """

    status = 400
    index: int | None = None


class WrongScope(WrongEvent):
    """No scope was named, or nothing is left of the name."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that meets the rules.

    `payload_json` and `refs_json` are compact JSON with sorted keys. `is_redacted`: it is stored without its texts.
    `has_own_time`: its source gave its time. `created_at` is set where a source stored the event before.
    """

    event_id: str
    ts_ms: int
    scope: str
    session_id: str
    agent_id: str
    type: str
    summary: str
    payload_json: str | None = None
    refs_json: str | None = None
    is_redacted: bool = False
    has_own_time: bool = True
    created_at: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call: bytes of payload and refs, and whether sensitive texts pass."""

    payload_bytes: int = PAYLOAD_BYTES
    refs_bytes: int = REFS_BYTES
    allows_tool_output: bool = False


def normalize_scope(text: object) -> str:
    """Return a scope as the existing tool spells it: `Project Alpha/Team_1` is `project-alpha/team_1`.

    Raises WrongScope when nothing is left of it, or more than 200 characters.
    """
    name = str(text or "")
    return _normalize_short(name) if len(name) <= SCOPE_CHARACTERS else _normalize(name)


def _normalize(name):
    token = to_nfkc(name).lower()
    token = re.sub(r"[^a-z0-9._:/-]+", "-", token)
    token = re.sub(r"-{2,}", "-", token).strip("-./:_")
    if not token or len(token) > SCOPE_CHARACTERS:
        raise WrongScope("invalid scope")
    return token


_normalize_short = lru_cache(maxsize=1_000)(_normalize)  # many events have few scopes


def resolve_scope(scope: object, is_global: bool = False) -> str:
    """Return the scope that a query names. Raises WrongScope without one: there is no fallback."""
    if scope is None or not str(scope).strip():
        if is_global:
            return GLOBAL
        raise WrongScope("scope is required (or pass --global)")
    name = normalize_scope(scope)
    if is_global and name != GLOBAL:
        raise WrongScope("--global cannot be combined with non-global --scope")
    return name


def parse_type(text: object) -> str:
    """Return the type of an event. Raises WrongEvent for another word."""
    word = str(text or "").strip().lower()
    if word not in TYPES:
        raise WrongEvent(f"invalid type: {word[:100] or '<empty>'}; allowed: {', '.join(TYPES)}")
    return word


def parse_types(texts: list[str] | None) -> list[str]:
    """Return the types that a filter names, also separated by commas. Raises WrongEvent."""
    words = [word.strip() for text in texts or [] for word in text.split(",") if word.strip()]
    return list(dict.fromkeys(map(parse_type, words)))


def parse_moment(value: object) -> int:
    """Return a time in milliseconds. Raises WrongEvent for one before 1970 or after 9999."""
    try:
        moment = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError) as exc:
        raise WrongEvent(f"invalid ts_ms: {str(value)[:100]}") from exc
    if not EARLIEST_MS <= moment <= LATEST_MS:
        raise WrongEvent("ts_ms must be > 0" if moment < EARLIEST_MS else "ts_ms must be before the year 10000")
    return moment


def parse_event_id(value: object) -> str:
    """Return the id of an event, a new UUID for none.

    Raises WrongEvent unless it has 1 to 128 printable characters without blanks.
    """
    name = str(value or "").strip() or str(uuid.uuid4())
    if not EVENT_ID.fullmatch(name):
        raise WrongEvent("event_id must have 1 to 128 printable characters without blanks")
    return name


def check_own_id(event_id: object) -> None:
    """Raise WrongEvent for an id that only capture, imports or retention give.

    Somebody who appended such an event before them would keep the real one out.
    """
    if OWN_ID.fullmatch(str(event_id or "").strip()):
        raise WrongEvent(_("Event ids of this form are given by captures, imports and retention runs alone."))


def encode_json(value: Any, label: str, most_bytes: int) -> str | None:
    """Return a value as compact JSON with sorted keys; None for None.

    Raises WrongEvent for JSON that is too large, too deep, or no JSON.
    """
    if value is None:
        return None
    try:
        level: list[Any] = [[value]]  # in a list, so that a text alone is looked at as well
        depth = 0
        while level:
            depth += 1
            if depth > MOST_DEPTH + 1:
                raise WrongEvent(f"{label} is nested deeper than {MOST_DEPTH} levels")
            level = [inner for outer in level for inner in _list_parts(outer)]
            if any(isinstance(part, str) and "\0" in part for part in level):
                raise WrongEvent(_("%(name)s holds a character that cannot be stored.") % {"name": label})
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONEncodeError, RecursionError) as exc:
        raise WrongEvent(f"invalid {label} JSON") from exc
    if len(text) > most_bytes:
        raise WrongEvent(f"{label} exceeds cap ({len(text)} > {most_bytes} bytes)")
    return text.decode()


def _list_parts(value):
    """Return the items of a list, or keys and values of an object."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def build_event(
    *,
    type: object,
    scope: object,
    session_id: object,
    agent_id: object,
    summary: object,
    event_id: object = None,
    ts_ms: object = None,
    payload: Any = None,
    refs: Any = None,
    limits: Limits = Limits(),
) -> NewEvent:
    """Check an event that somebody wants to append.

    Raises WrongEvent for values that break a rule, and for tool output or sensitive texts unless `limits` allow them.
    """
    if limits.payload_bytes <= 0 or limits.refs_bytes <= 0:
        raise WrongEvent("payload/refs caps must be > 0")
    event = NewEvent(
        type=parse_type(type),
        scope=normalize_scope(scope),
        ts_ms=clock.now_ms() if ts_ms is None else parse_moment(ts_ms),
        session_id=parse_name(session_id, "session_id"),
        agent_id=parse_name(agent_id, "agent_id"),
        summary=parse_name(summary, "summary", SUMMARY_CHARACTERS),
        event_id=parse_event_id(event_id),
        payload_json=encode_json(payload, "payload", min(limits.payload_bytes, PAYLOAD_BYTES)),
        refs_json=encode_json(refs, "refs", min(limits.refs_bytes, REFS_BYTES)),
        has_own_time=ts_ms is not None,
    )
    if event.session_id == RUN_SESSION:  # verification reads what runs say of the gaps
        raise WrongEvent(f"session_id {RUN_SESSION} is that of retention runs")
    if not limits.allows_tool_output:
        for label, text in (("summary", event.summary), ("payload", event.payload_json), ("refs", event.refs_json)):
            kinds = sensitive_text.find_kinds(text or "", is_json=label != "summary")
            if kinds:
                raise WrongEvent(
                    f"{label} appears to contain {kinds[0]}-like content; pass --allow-tool-output to override"
                )
        if event.type.startswith("tool.") and event.payload_json:
            raise WrongEvent(f"{event.type} events with a payload need --allow-tool-output")
    return event


def parse_name(value: object, label: str, most: int = NAME_CHARACTERS) -> str:
    """Return a required text without blanks around it.

    Raises WrongEvent for none, a long one, or NUL in it.
    """
    text = str(value or "").strip()
    if not text:
        raise WrongEvent(f"{label} is required")
    if len(text) > most:
        raise WrongEvent(_("%(name)s has at most %(most)s characters.") % {"name": label, "most": f"{most:,}"})
    if "\0" in text or (not text.isascii() and SURROGATES.search(text)):
        raise WrongEvent(_("%(name)s holds a character that cannot be stored.") % {"name": label})
    return text
