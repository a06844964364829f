"""Reads one transcript record, in both dialects that OpenClaw writes.

Real transcripts use `toolCall`/`arguments` and `usage.input`; the data format specification (and older files) use
`tool_use`/`input` and `usage.inputTokens`. Both are read, neither is rewritten: the record is stored as it is. Pure: no
Django, no files.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from .jsonl import is_too_deep
from .machine_prompts import COMMAND, SYSTEM_MESSAGE, parse_provenance, text_kind
from .message_unwrapping import UnwrappedMessage, may_be_wrapped, unwrap_message
from .projections import get_projected_text
from .reply_markers import SIGNS, strip_markers
from .senders import read_sender
from .usage import Usage, read_usage

MIRROR = "delivery-mirror"  # the model of a copy of a delivered message
SYNTHETIC_MODELS = frozenset({MIRROR, "gateway-injected"})
KINDS_BY_ROLE = {"user": "user", "assistant": "assistant", "toolResult": "tool_result", "tool": "tool_result"}
KINDS_BY_TYPE = {
    kind: kind
    for kind in (
        "session",
        "compaction",
        "branch_summary",
        "model_change",
        "thinking_level_change",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "reset",
        "leaf",
        "usage",
    )
}
TEXT_BLOCKS = frozenset({"text", "output_text", "input_text"})
CALL_BLOCKS = frozenset({"toolCall", "tool_use", "tool_call"})
# Attachments in the spellings of model providers; OpenClaw itself writes `image`.
FILE_BLOCKS = frozenset({"image_url", "input_image", "file", "input_file", "document", "audio", "input_audio", "video"})
# A year that a log of agents can have: anything else is a damaged number.
EARLIEST_MS, LATEST_MS = 946_684_800_000, 4_102_444_800_000
MAX_NAME = 256


@dataclass(slots=True)
class ToolCall:
    """A call of a tool by the assistant; `arguments` is always an object."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class Facts:
    """The values of one record; values that it lacks are empty or None."""

    type: str
    kind: str
    record_id: str | None = None
    parent_id: str | None = None
    created_at: int | None = None
    text: str = ""
    thinking: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    images: int = 0
    files: int = 0  # other attachments
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_failed: bool = False
    is_synthetic: bool = False
    mirror: str = ""  # of a copy of a delivered message: its kind
    run_id: str = ""  # of the run that wrote the message
    model: str | None = None  # that answered
    asked_model: str | None = None  # when it is another one than answered
    provider: str | None = None
    stop_reason: str | None = None
    error: str | None = None
    usage: Usage | None = None
    sender: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    envelope: UnwrappedMessage | None = None  # the lines around the words of a person
    is_unwrapped: bool = False  # whether there were any
    model_prompt: str = ""  # what the model saw of a person's message; never what the person said

    @property
    def has_files(self) -> bool:
        """Whether anything is attached to the message."""
        return bool(self.images or self.files)


def read_facts(record: dict[str, Any]) -> Facts:
    """Read one record. It never raises for odd shapes: unreadable values are left out."""
    message = _get_message(record)
    if message is not None:
        record_facts = read_message_facts(record)
        if record_facts.kind == "assistant":
            record_facts.provider = _get_text(message.get("provider"))
            record_facts.stop_reason = _get_text(message.get("stopReason"))
            record_facts.error = _get_text(message.get("errorMessage"))
            # A person who stops an answer is no failure, whatever the message says.
            record_facts.is_failed = record_facts.stop_reason == "error" or (
                record_facts.error is not None and record_facts.stop_reason != "aborted"
            )
            if isinstance(usage := message.get("usage"), dict) and not record_facts.is_synthetic:
                record_facts.usage = read_usage(usage)
        elif record_facts.kind == "user":
            _read_sender(record_facts, message)
            record_facts.model_prompt = get_projected_text(record)
    else:
        type_ = record.get("type", "")
        base = type_.split(":", 1)[0]  # the specification writes custom:<customType>
        record_facts = Facts(type_, KINDS_BY_TYPE.get(base, "unknown"))
        _read_other(record_facts, record)
    record_facts.record_id = own_id(record)
    record_facts.parent_id = own_parent(record)
    record_facts.created_at = own_moment(record)
    return record_facts


def read_message_facts(record: dict[str, Any]) -> Facts:
    """Read the content of a message, as `read_facts` does, for readers of very many records.

    Its sender, time and usage are left out. A record that is no message is read completely.
    """
    message = _get_message(record)
    if message is None:
        return read_facts(record)
    role = message.get("role")
    message_facts = Facts("message", KINDS_BY_ROLE.get(role, "message") if isinstance(role, str) else "message")
    _read_content(message_facts, message.get("content"))
    if message_facts.kind == "assistant":
        if any(sign in message_facts.text for sign in SIGNS):  # most replies have none
            message_facts.text, files = strip_markers(message_facts.text)
            message_facts.files += files
        message_facts.run_id = get_run_id(record)
        model = _clean_name(message.get("model"))
        message_facts.model = _clean_name(message.get("responseModel")) or model
        message_facts.asked_model = model if model != message_facts.model else None
        message_facts.mirror = _read_mirror(message, model)
        message_facts.is_synthetic = model in SYNTHETIC_MODELS or bool(message_facts.mirror)
    elif message_facts.kind == "tool_result":
        message_facts.tool_call_id = _get_text(message.get("toolCallId")) or _get_text(message.get("tool_use_id"))
        message_facts.tool_name = _clean_name(message.get("toolName")) or _clean_name(message.get("name"))
        details = message.get("details")
        message_facts.details = details if isinstance(details, dict) else {}
        # Most failures are not flagged: a command that exits with 3 has isError false.
        message_facts.is_failed = (
            message.get("isError") is True
            or message_facts.details.get("status") in ("error", "failed")
            or message_facts.details.get("exitCode") not in (0, None)
        )
    elif message_facts.kind == "user" and may_be_wrapped(message_facts.text):
        message_facts.envelope = envelope = unwrap_message(message_facts.text)
        message_facts.is_unwrapped = envelope.words != message_facts.text
        message_facts.text = envelope.words
        message_facts.images, message_facts.files = (
            max(message_facts.images, envelope.images),
            max(message_facts.files, envelope.files),
        )
    return message_facts


def read_content_facts(record: dict[str, Any]) -> Facts:
    """The blocks of a message's content, with a person's words as they are wrapped."""
    message_facts = Facts("message", "message")
    _read_content(message_facts, (_get_message(record) or {}).get("content"))
    return message_facts


def own_id(record: dict[str, Any]) -> str | None:
    """The id that a record has itself, when it is usable; None otherwise."""
    return _valid_id(record.get("id"))


def own_parent(record: dict[str, Any]) -> str | None:
    """The parent that a record names itself, when it is usable; None otherwise."""
    return _valid_id(record.get("parentId"))


def own_moment(record: dict[str, Any]) -> int | None:
    """When a record says that it was written (ms); None when it does not."""
    if moment := parse_moment_ms(record.get("timestamp")):
        return moment
    message = _get_message(record)
    return (message and parse_moment_ms(message.get("timestamp"))) or None


def get_run_id(record: dict[str, Any]) -> str:
    """The id of the run that wrote a message, when the record has it; empty otherwise."""
    message = record.get("message")
    own = message.get("__openclaw") if isinstance(message, dict) else None
    run_id = own.get("runId") if isinstance(own, dict) else None
    return run_id if isinstance(run_id, str) else ""


def parse_moment_ms(value: Any) -> int | None:
    """An ISO text or a number of milliseconds, as milliseconds since 1970 UTC.

    None for anything absurd.
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        try:
            value = round(moment.timestamp() * 1000)
        except OverflowError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if EARLIEST_MS <= value <= LATEST_MS else None


def is_text_block(block: Any) -> bool:
    """Whether a block of a message's content holds words.

    Its `type` may be of any JSON type.
    """
    kind = block.get("type") if isinstance(block, dict) else None
    return isinstance(kind, str) and kind in TEXT_BLOCKS


def read_file_lists(summary: str, details: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The files that a compaction says were read and modified.

    They come from its details, else from the tags in its summary.
    """
    read, modified = _filter_texts(details.get("readFiles")), _filter_texts(details.get("modifiedFiles"))
    return read or _find_tagged(summary, "read-files"), modified or _find_tagged(summary, "modified-files")


def _find_tagged(summary, tag):
    """The lines between every pair of tags.

    Without a pattern: one that may look for an end at every start is quadratic.
    """
    lines: list[str] = []
    end = 0
    while (start := summary.find(f"<{tag}>", end)) >= 0 and (end := summary.find(f"</{tag}>", start)) >= 0:
        body = summary[start + len(tag) + 2 : end]
        lines += [line.strip().removeprefix("- ").strip() for line in body.splitlines() if line.strip()]
    return lines


def _get_message(record):
    """The message of a record that is one; None for others."""
    message = record.get("message") if record.get("type") == "message" else None
    return message if isinstance(message, dict) else None


def _read_content(record_facts, content):
    if isinstance(content, str):
        record_facts.text = content
        return
    texts, thoughts = [], []
    for block in _filter_dicts(content):
        kind = _get_text(block.get("type"))  # of any JSON type: only a text can be a known kind
        if kind in TEXT_BLOCKS:
            texts.append(_get_text(block.get("text")) or "")
        elif kind == "thinking":
            thoughts.append(_get_text(block.get("thinking")) or "")
        elif kind in CALL_BLOCKS:
            record_facts.calls.append(_build_call(block))
        elif kind == "image":
            record_facts.images += 1
        elif kind in FILE_BLOCKS:
            record_facts.files += 1
    record_facts.text = texts[0] if len(texts) == 1 else "\n\n".join(texts)
    record_facts.thinking = "\n\n".join(thoughts)


def _build_call(block):
    arguments = block.get("arguments", block.get("input"))
    if isinstance(arguments, str):
        arguments = _load_arguments(arguments)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"_value": arguments}
    return ToolCall(_get_text(block.get("id")) or "", _get_text(block.get("name")) or "", arguments)


def _load_arguments(text):
    """The arguments in a text of JSON, or the text itself under `_text`.

    The text stays where it is no JSON, or is nested deeper than a record may be.
    """
    try:
        arguments = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"_text": text}
    return {"_text": text} if is_too_deep(text.encode(), arguments) else arguments


def _read_mirror(message, model):
    """The kind of a copy of a message that OpenClaw delivered, or meant to; empty for other messages.

    The names of provider and model may be gone from older records, the marker is not.
    """
    marker = message.get("openclawDeliveryMirror")
    if isinstance(marker, dict):
        return _get_text(marker.get("kind")) or MIRROR
    return MIRROR if model == MIRROR or message.get("openclawMessageToolMirror") else ""


def _read_other(record_facts, record):
    details = record.get("details", record.get("data"))
    record_facts.details = details if isinstance(details, dict) else {}
    if record_facts.kind in ("compaction", "branch_summary"):
        record_facts.usage = read_usage(usage) if isinstance(usage := record.get("usage"), dict) else None
        record_facts.text = _get_text(record.get("summary")) or ""
    elif record_facts.kind == "custom_message":
        _read_content(record_facts, record.get("content"))
    elif record_facts.kind == "model_change":
        record_facts.provider, record_facts.model = (
            _get_text(record.get("provider")),
            _clean_name(record.get("modelId")),
        )
    elif record_facts.kind == "thinking_level_change":
        record_facts.text = _get_text(record.get("thinkingLevel")) or ""
    elif record_facts.kind == "session_info":
        record_facts.text = _get_text(record.get("name")) or ""
    elif record_facts.kind == "label":
        record_facts.text = _get_text(record.get("label")) or ""
    elif record_facts.kind == "reset":
        record_facts.text = _get_text(record.get("reason")) or ""
    elif record_facts.kind == "usage":
        record_facts.provider, record_facts.model = _get_text(record.get("provider")), _clean_name(record.get("model"))
        usage_values = record.get("usage", record_facts.details.get("usage"))
        record_facts.usage = read_usage(
            usage_values if isinstance(usage_values, dict) else record_facts.details or record
        )


def find_injected_kind(text: str) -> str:
    """The kind of OpenClaw's own prompt by its words (`machine_prompts.TEXTS`), or ""."""
    return text_kind(text)


def _read_sender(record_facts, message):
    """Read the sender of a user message, from the lines of the gateway around it."""
    own, envelope = message.get("__openclaw"), record_facts.envelope
    if envelope is not None:
        record_facts.sender = read_sender(envelope.blocks, own)
        if envelope.system_lines:
            record_facts.sender["system_lines"] = envelope.system_lines
        if envelope.unknown:
            record_facts.sender["envelope"] = "unknown"
    elif own is not None:
        record_facts.sender = read_sender([], own)
    _read_prompt(record_facts, message.get("provenance"))
    if isinstance(own, dict) and own.get("contextFreeCommand") is True:
        record_facts.sender["injected"] = COMMAND


def _read_prompt(record_facts, provenance):
    """Read whether a person typed the words, by provenance, else by the words."""
    origin = parse_provenance(provenance, record_facts.text)
    kind = text_kind(record_facts.text) if origin is None or origin.is_unknown else origin.kind
    if not kind and origin is None and not record_facts.text.strip() and "system_lines" in record_facts.sender:
        kind = SYSTEM_MESSAGE  # events alone, without words of anybody
    if kind:
        record_facts.sender["injected"] = kind
    elif origin is not None:
        record_facts.sender["envelope" if origin.is_unknown else "is_person"] = "unknown" if origin.is_unknown else True


def _valid_id(value):
    """An id that can be in a column and in an address; None for others."""
    usable = isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()
    return value if usable and not value.startswith("@") else None  # @<offset> is our name for a record without one


def _clean_name(value):
    return value[:MAX_NAME].replace("\x00", "\ufffd") if isinstance(value, str) else None


def _get_text(value):
    return value if isinstance(value, str) else None


def _filter_texts(value):
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _filter_dicts(value: Any) -> Iterator[dict[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
