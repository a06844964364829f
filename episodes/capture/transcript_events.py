"""Makes events of one transcript record: its words, tool calls and tool result."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ledger.collectors.records import Facts, ToolCall, read_facts
from ledger.models import TranscriptEvent
from ledger.transcripts.trimming import parse_stashed, untrim

from .. import sensitive_text
from ..events import Limits, NewEvent, WrongEvent, build_event
from ..imports.normalization import bound_json, clean_text, sanitize_payload, split_scope_tag
from ..models import EpisodicEvent

Kind, Type = TranscriptEvent.Kind, EpisodicEvent.Type
KINDS = (Kind.USER, Kind.ASSISTANT, Kind.TOOL_RESULT, Kind.CUSTOM)
CAPTURED_TYPES = (Type.CONVERSATION_USER, Type.CONVERSATION_ASSISTANT, Type.TOOL_CALL, Type.TOOL_RESULT, Type.OPS_ALERT)
SOURCE = "capture"
PAYLOAD_BYTES, SUMMARY_CHARACTERS, TOOL_CHARACTERS, NAME_CHARACTERS = 4_096, 220, 100, 500
TEXT_BYTES = 3_600  # of a text in a payload, which JSON makes longer
ID_DIGITS = 32
# Custom records of plugins that recall or capture memories; their texts may quote anybody.
LIFECYCLE = re.compile(r"auto[._-]?(?:recall|capture)", re.IGNORECASE)
UNKNOWN_TOOL = "unknown tool"
LIMITS = Limits(allows_tool_output=True)  # sensitive texts are replaced here, not refused


@dataclass(frozen=True, slots=True)
class Context:
    """Values that events share: agent, scope, turn, and whether tool payloads are stored."""

    agent_id: str
    scope: str
    turn_id: str | None
    allows_tool_output: bool


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a record, which becomes an event.

    `texts` are searched for secrets; `payload` is stored.
    """

    name: str
    type: str
    summary: str
    texts: tuple[str, ...] = ()
    payload: Any = None
    call_id: str | None = None
    artifact: str | None = None


def build_id(*names: str) -> str:
    """Return the id of a captured event, always the same for the same names."""
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass"))
    return f"ep-{digest.hexdigest()[:ID_DIGITS]}"


def find_scope(text: str) -> str | None:
    """Return the scope of a text that begins with `[SCOPE: x]`, None without a usable one."""
    try:
        return split_scope_tag(text)[0]
    except WrongEvent:
        return None


def build_events(row: TranscriptEvent, record_id: str, context: Context) -> Iterator[NewEvent]:
    """Yield the events of a stored record, in the order in which its parts happened."""
    needs_whole = row.kind != Kind.TOOL_RESULT or context.allows_tool_output
    record = untrim(row.event_json, row.full_zstd if needs_whole else None)
    for part in _find_parts(row, record, context.allows_tool_output):
        refs = {"record": record_id, "turn": context.turn_id, "toolCallId": part.call_id, "artifact": part.artifact}
        with suppress(WrongEvent):  # a part that can be no event takes no other part with it
            yield finish_event(
                part,
                event_id=build_id(row.session_id, record_id, part.name),
                ts_ms=row.created_at,
                session_id=row.session_id,
                context=context,
                refs=refs,
            )


def _find_parts(row, record, with_output) -> Iterator[Part]:
    facts = read_facts(record)
    if row.kind == Kind.CUSTOM:
        yield from _build_lifecycle(str(record.get("customType") or facts.type), facts.details)
    elif row.kind == Kind.USER:
        yield _build_spoken(Type.CONVERSATION_USER, _strip_tag(facts.text), facts.images + facts.files)
    elif row.kind == Kind.TOOL_RESULT:
        yield _build_result(row, facts, with_output)
    else:
        if facts.text.strip():
            yield _build_spoken(Type.CONVERSATION_ASSISTANT, facts.text)
        for index, call in enumerate(facts.calls):
            yield _build_call(index, call, with_output)


def _build_lifecycle(name, details) -> Iterator[Part]:
    """The receipt of a plugin's recall or capture, with its numbers alone."""
    if LIFECYCLE.search(name):
        numbers = {key: value for key, value in details.items() if isinstance(value, int | float)}
        yield Part(Type.OPS_ALERT, Type.OPS_ALERT, f"{Type.OPS_ALERT}: {_name_tool(name)}", (name,), numbers)


def _strip_tag(text):
    try:
        return split_scope_tag(text)[1]
    except WrongEvent:
        return text


def _build_spoken(event_type, text, attachments=0):
    payload = _build_text(text) | ({"attachments": attachments} if attachments else {})
    return Part(event_type, event_type, f"{event_type}: {shorten(text)}".rstrip(": "), (text,), payload)


def _build_call(index, call: ToolCall, with_output):
    summary = f"{Type.TOOL_CALL}: {_name_tool(call.name)}"
    payload = {"arguments": call.arguments} if with_output else None
    texts = _find_texts(call.arguments) if with_output else ()
    return Part(f"{Type.TOOL_CALL}:{index}", Type.TOOL_CALL, summary, texts, payload, call.id or None)


def _build_result(row, facts: Facts, with_output):
    failure = " (failed)" if row.is_failed else ""
    summary = f"{Type.TOOL_RESULT}: {_name_tool(facts.tool_name)}{failure}"
    payload = _build_text(facts.text) if with_output else None
    stashed = parse_stashed(row.trim_json)
    handle = stashed[0].handle if stashed else None
    texts = (facts.text,) if with_output else ()
    return Part(Type.TOOL_RESULT, Type.TOOL_RESULT, summary, texts, payload, facts.tool_call_id, handle)


def _build_text(text):
    """A text as a payload: its beginning, and its size in bytes where it is longer."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= TEXT_BYTES:
        return {"text": text}
    return {"text": f"{encoded[:TEXT_BYTES].decode('utf-8', 'ignore')}…", "original_bytes": len(encoded)}


def _name_tool(name):
    return clean_text(name)[:TOOL_CHARACTERS] or UNKNOWN_TOOL


def _find_texts(value):
    """The texts of a JSON value, of any depth, without recursion."""
    texts, level = [], [value]
    while level:
        texts += [item for item in level if isinstance(item, str)]
        objects = [item for item in level if isinstance(item, dict)]
        texts += [f"{key}={inner}" for item in objects for key, inner in item.items() if isinstance(inner, str)]
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return tuple(texts)


def shorten(text: str) -> str:
    """Return a text as one line of at most 220 characters, without addresses and telephone numbers."""
    line = " ".join(sensitive_text.mask_personal(clean_text(text[: 4 * PAYLOAD_BYTES])).split())
    return f"{line[:SUMMARY_CHARACTERS]}…" if len(line) > SUMMARY_CHARACTERS else line


def finish_event(
    part: Part, *, event_id: str, ts_ms: int, session_id: str, context: Context, refs: dict[str, Any]
) -> NewEvent:
    """Return the bounded event of a part, redacted when its texts seem to hold a secret.

    Raises WrongEvent for a part that no event can hold, such as one with a time before 1970.
    """
    payload = None
    if part.payload is not None:
        payload, _is_cut = bound_json(sanitize_payload(part.payload, PAYLOAD_BYTES), PAYLOAD_BYTES, "payload")
    present = {name: value for name, value in refs.items() if value is not None}
    event = build_event(
        type=part.type,
        scope=context.scope,
        session_id=clean_text(session_id)[:NAME_CHARACTERS],
        agent_id=context.agent_id,
        summary=part.summary,
        event_id=event_id,
        ts_ms=ts_ms,
        payload=payload,
        refs={"source": SOURCE} | sanitize_refs(present),
        limits=LIMITS,
    )
    return replace(event, is_redacted=any(map(sensitive_text.is_secret, part.texts)))


def sanitize_refs(refs: dict[str, Any]) -> dict[str, Any]:
    """Return refs whose texts can be stored, each of at most 500 characters."""
    return {
        name: clean_text(value)[:NAME_CHARACTERS] if isinstance(value, str) else value for name, value in refs.items()
    }
