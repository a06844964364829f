"""Makes the events of a spool's lines, as the existing tool's `ingest` does."""

from dataclasses import dataclass
from typing import Any

import orjson

from episodes import sensitive_text
from episodes.events import GLOBAL, PAYLOAD_BYTES, REFS_BYTES, NewEvent, WrongEvent, parse_type

from .normalization import bound_json, clean_text, find_scope, sanitize_payload, split_scope_tag
from .source_events import build_source_event, cut_summary

CONVERSATION = "conversation."
CONVERSATION_BYTES = 4_096
FEWEST_PAYLOAD_BYTES, FEWEST_REFS_BYTES, FEWEST_REFS_CHARACTERS = 256, 128, 256


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """Bytes that payloads and refs of a spool's events may have."""

    payload_bytes: int = PAYLOAD_BYTES
    conversation_bytes: int = CONVERSATION_BYTES
    refs_bytes: int = REFS_BYTES

    def get_payload_bytes(self, event_type: str) -> int:
        """Return the limit of one type of event."""
        limit = min(max(FEWEST_PAYLOAD_BYTES, self.payload_bytes), PAYLOAD_BYTES)
        if not event_type.startswith(CONVERSATION):
            return limit
        return min(limit, max(FEWEST_PAYLOAD_BYTES, self.conversation_bytes))

    def get_refs_bytes(self) -> int:
        """Return the limit of refs."""
        return min(max(FEWEST_REFS_BYTES, self.refs_bytes), REFS_BYTES)


@dataclass(frozen=True, slots=True)
class SpoolEvent:
    """An event of a spool, and what of its texts was cut or left out."""

    event: NewEvent
    is_payload_cut: bool = False
    is_refs_cut: bool = False
    is_summary_cut: bool = False
    is_withdrawn: bool = False  # its payload was left out because of its content


def normalize_event(value: dict[str, Any], fallback_id: str, limits: SpoolLimits) -> SpoolEvent:
    """Return the event of one line of a spool.

    `fallback_id` is its id where the line has none. An event with a secret is stored without its texts. Raises
    WrongEvent for a line that is no event.
    """
    event_type, is_redacted = parse_type(value.get("type")), bool(value.get("redacted")) or _has_secret(value)
    summary = clean_text(value.get("summary"))
    tagged_scope, body = split_scope_tag(summary)
    scope = find_scope(value.get("scope")) or tagged_scope or GLOBAL
    summary = sensitive_text.mask_personal(body or summary)
    payload, is_payload_cut = _bound(value, "payload", limits.get_payload_bytes(event_type))
    refs, is_refs_cut = _bound(value, "refs", limits.get_refs_bytes())
    is_personal = any(sensitive_text.is_personal(_dump(part)) for part in (payload, refs))
    is_output = event_type.startswith(CONVERSATION) and sensitive_text.is_tool_output(
        f"{summary}\n{_find_text(value.get('payload'), payload)}"
    )
    summary, is_summary_cut = cut_summary(summary)
    event = build_source_event(
        is_redacted=is_redacted,
        event_id=clean_text(value.get("event_id")) or fallback_id,
        ts_ms=value.get("ts_ms"),
        type=event_type,
        scope=scope,
        session_id=clean_text(value.get("session_id")),
        agent_id=clean_text(value.get("agent_id")),
        summary=summary,
        payload=None if is_personal or is_output else payload,
        refs=None if is_personal else refs,
    )
    is_withdrawn = is_redacted or is_personal or is_output
    return SpoolEvent(event, is_payload_cut, is_refs_cut, is_summary_cut, is_withdrawn)


def _has_secret(value):
    texts = [clean_text(value.get("summary")), _dump(value.get("payload")), _dump(value.get("refs"))]
    return any(sensitive_text.is_secret(text) for text in texts)


def _dump(part):
    return "" if part is None else orjson.dumps(part).decode()


def _bound(value, label, most_bytes):
    most_characters = max(FEWEST_REFS_CHARACTERS, most_bytes) if label == "refs" else most_bytes
    try:
        return bound_json(sanitize_payload(value.get(label), most_characters), most_bytes, label)
    except ValueError as exc:
        raise WrongEvent(str(exc)) from exc


def _find_text(raw_payload, payload):
    """Return the text of a payload that may be the output of a tool."""
    if isinstance(raw_payload, dict):
        return clean_text(raw_payload.get("text"))
    return clean_text(raw_payload) if isinstance(raw_payload, str) else _dump(payload)
