"""What one transcript record says, in both dialects OpenClaw has been seen to write. Pure: no Django, no files.

Real transcripts use `toolCall`/`arguments` and `usage.input`; the data format specification (and older files)
use `tool_use`/`input` and `usage.inputTokens`. Both are read, neither is rewritten: the record is stored as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from .jsonl import is_too_deep
from .machine_prompts import SYSTEM_MESSAGE, parse_provenance, text_kind
from .message_unwrapping import UnwrappedMessage, may_be_wrapped, unwrap_message
from .projections import get_projected_text
from .senders import read_sender
from .usage import Usage, read_usage

SYNTHETIC_MODELS = frozenset({"delivery-mirror", "gateway-injected"})
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
# What was sent beside words, in the spellings of model providers; OpenClaw itself writes `image`.
FILE_BLOCKS = frozenset({"image_url", "input_image", "file", "input_file", "document", "audio", "input_audio", "video"})
# A year that a log of agents can have: anything else is a damaged number.
EARLIEST_MS, LATEST_MS = 946_684_800_000, 4_102_444_800_000
MAX_NAME = 256


@dataclass(slots=True)
class ToolCall:
    """A call an assistant asked for; `arguments` is always an object."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class Facts:
    """One record in plain words; everything a record does not say is empty or None."""

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
    model: str | None = None
    provider: str | None = None
    stop_reason: str | None = None
    error: str | None = None
    usage: Usage | None = None
    sender: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    around: UnwrappedMessage | None = None  # what stood around the words of a person
    is_unwrapped: bool = False  # and something did
    model_prompt: str = ""  # what the model saw of a person's message; never what the person said


def read_facts(record: dict[str, Any]) -> Facts:
    """Read one record. Never raises for odd shapes: what cannot be understood is left out."""
    message = _message(record)
    if message is not None:
        found = read_message_facts(record)
        if found.kind == "assistant":
            _read_assistant(found, message)
        elif found.kind == "user":
            _read_sender(found, message)
            found.model_prompt = get_projected_text(record)
    else:
        type_ = record.get("type", "")
        base = type_.split(":", 1)[0]  # the specification writes custom:<customType>
        found = Facts(type_, KINDS_BY_TYPE.get(base, "unknown"))
        _read_other(found, record)
    found.record_id = own_id(record)
    found.parent_id = own_parent(record)
    found.created_at = own_moment(record)
    return found


def read_message_facts(record: dict[str, Any]) -> Facts:
    """What a message says, as `facts` reads it, without who, when and with which model: for readers of very many.

    Of a record that is no message, all of it.
    """
    message = _message(record)
    if message is None:
        return read_facts(record)
    role = message.get("role")
    found = Facts("message", KINDS_BY_ROLE.get(role, "message") if isinstance(role, str) else "message")
    _read_content(found, message.get("content"))
    if found.kind == "assistant":
        found.model = _name(message.get("model"))
        found.is_synthetic = found.model in SYNTHETIC_MODELS
    elif found.kind == "tool_result":
        _read_tool_result(found, message)
    elif found.kind == "user" and may_be_wrapped(found.text):
        found.around = around = unwrap_message(found.text)
        found.is_unwrapped = around.words != found.text
        found.text = around.words
        found.images, found.files = max(found.images, around.images), max(found.files, around.files)
    return found


def read_content_facts(record: dict[str, Any]) -> Facts:
    """The blocks of a message's content, with a person's words as they are wrapped."""
    found = Facts("message", "message")
    _read_content(found, (_message(record) or {}).get("content"))
    return found


def own_id(record: dict[str, Any]) -> str | None:
    """The id that a record brings, when it can be used; None otherwise."""
    return _identifier(record.get("id"))


def own_parent(record: dict[str, Any]) -> str | None:
    """The record that this one says it follows; None when it says none that can be used."""
    return _identifier(record.get("parentId"))


def own_moment(record: dict[str, Any]) -> int | None:
    """When a record says it was written, in milliseconds; None when it does not say."""
    if moment := parse_moment_ms(record.get("timestamp")):
        return moment
    message = _message(record)
    return (message and parse_moment_ms(message.get("timestamp"))) or None


def get_run_id(record: dict[str, Any]) -> str:
    """The run that wrote a message, when the record says so; empty otherwise."""
    message = record.get("message")
    own = message.get("__openclaw") if isinstance(message, dict) else None
    run_id = own.get("runId") if isinstance(own, dict) else None
    return run_id if isinstance(run_id, str) else ""


def parse_moment_ms(value: Any) -> int | None:
    """An ISO text or a number of milliseconds as milliseconds since 1970 UTC; None for anything absurd."""
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
    """Whether a block of a message's content holds words; its `type` may be of any JSON type."""
    kind = block.get("type") if isinstance(block, dict) else None
    return isinstance(kind, str) and kind in TEXT_BLOCKS


def read_file_lists(summary: str, details: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The files a compaction says were read and modified: from its details, else from the tags in its summary."""
    read, modified = _texts(details.get("readFiles")), _texts(details.get("modifiedFiles"))
    return read or _tagged(summary, "read-files"), modified or _tagged(summary, "modified-files")


def _tagged(summary, tag):
    """The lines between every pair of tags. By hand: a pattern that may look for an end at every start is quadratic."""
    found: list[str] = []
    end = 0
    while (start := summary.find(f"<{tag}>", end)) >= 0 and (end := summary.find(f"</{tag}>", start)) >= 0:
        body = summary[start + len(tag) + 2 : end]
        found += [line.strip().removeprefix("- ").strip() for line in body.splitlines() if line.strip()]
    return found


def _message(record):
    """The message of a record that is one; None for others."""
    message = record.get("message") if record.get("type") == "message" else None
    return message if isinstance(message, dict) else None


def _read_content(found, content):
    if isinstance(content, str):
        found.text = content
        return
    texts, thoughts = [], []
    for block in _dicts(content):
        kind = _text(block.get("type"))  # of any JSON type: one that cannot be looked up is none we know
        if kind in TEXT_BLOCKS:
            texts.append(_text(block.get("text")) or "")
        elif kind == "thinking":
            thoughts.append(_text(block.get("thinking")) or "")
        elif kind in CALL_BLOCKS:
            found.calls.append(_call(block))
        elif kind == "image":
            found.images += 1
        elif kind in FILE_BLOCKS:
            found.files += 1
    found.text = texts[0] if len(texts) == 1 else "\n\n".join(texts)
    found.thinking = "\n\n".join(thoughts)


def _call(block):
    arguments = block.get("arguments", block.get("input"))
    if isinstance(arguments, str):
        arguments = _loaded(arguments)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"_value": arguments}
    return ToolCall(_text(block.get("id")) or "", _text(block.get("name")) or "", arguments)


def _loaded(text):
    """The arguments in a text of JSON; the text itself where it is none, or nested deeper than a record may be."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"_text": text}
    return {"_text": text} if is_too_deep(text.encode(), found) else found


def _read_assistant(found, message):
    found.provider = _text(message.get("provider"))
    found.stop_reason = _text(message.get("stopReason"))
    found.error = _text(message.get("errorMessage"))
    # A person who stops an answer is no failure, whatever the message says.
    found.is_failed = found.stop_reason == "error" or (found.error is not None and found.stop_reason != "aborted")
    if isinstance(usage := message.get("usage"), dict) and not found.is_synthetic:
        found.usage = read_usage(usage)


def _read_tool_result(found, message):
    found.tool_call_id = _text(message.get("toolCallId")) or _text(message.get("tool_use_id"))
    found.tool_name = _name(message.get("toolName")) or _name(message.get("name"))
    details = message.get("details")
    found.details = details if isinstance(details, dict) else {}
    # Most failures are not flagged: a command that exits with 3 has isError false.
    found.is_failed = (
        message.get("isError") is True
        or found.details.get("status") in ("error", "failed")
        or found.details.get("exitCode") not in (0, None)
    )


def _read_other(found, record):
    details = record.get("details", record.get("data"))
    found.details = details if isinstance(details, dict) else {}
    if found.kind in ("compaction", "branch_summary"):
        found.usage = read_usage(usage) if isinstance(usage := record.get("usage"), dict) else None
        found.text = _text(record.get("summary")) or ""
    elif found.kind == "custom_message":
        _read_content(found, record.get("content"))
    elif found.kind == "model_change":
        found.provider, found.model = _text(record.get("provider")), _name(record.get("modelId"))
    elif found.kind == "thinking_level_change":
        found.text = _text(record.get("thinkingLevel")) or ""
    elif found.kind == "session_info":
        found.text = _text(record.get("name")) or ""
    elif found.kind == "label":
        found.text = _text(record.get("label")) or ""
    elif found.kind == "reset":
        found.text = _text(record.get("reason")) or ""
    elif found.kind == "usage":
        found.provider, found.model = _text(record.get("provider")), _name(record.get("model"))
        told = record.get("usage", found.details.get("usage"))
        found.usage = read_usage(told if isinstance(told, dict) else found.details or record)


# What an agent writes when nothing is to be sent: to a heartbeat also before or after words.
SILENT, HEARTBEAT = "NO_REPLY", "HEARTBEAT_OK"


def find_injected_kind(text: str) -> str:
    """Which of OpenClaw's own prompts a text is by its words alone (`machine_prompts.TEXTS`); empty for others."""
    return text_kind(text)


def is_silent(reply: str) -> bool:
    """Whether a reply says that nothing is to be sent."""
    words = reply.strip()
    return words == SILENT or words.startswith(HEARTBEAT) or words.endswith(HEARTBEAT)


def _read_sender(found, message):
    """Who said the words of a user, from the lines that the gateway puts around a channel message."""
    own, around = message.get("__openclaw"), found.around
    if around is not None:
        found.sender = read_sender(around.blocks, own)
        if around.system_lines:
            found.sender["system_lines"] = around.system_lines
        if around.unknown:
            found.sender["envelope"] = "unknown"
    elif own is not None:
        found.sender = read_sender([], own)
    _read_prompt(found, message.get("provenance"))


def _read_prompt(found, provenance):
    """Whether somebody typed the words: the record's own provenance says it, else the words."""
    origin = parse_provenance(provenance, found.text)
    kind = text_kind(found.text) if origin is None or origin.is_unknown else origin.kind
    if not kind and origin is None and not found.text.strip() and "system_lines" in found.sender:
        kind = SYSTEM_MESSAGE  # events alone, without words of anybody
    if kind:
        found.sender["injected"] = kind
    elif origin is not None:
        found.sender["envelope" if origin.is_unknown else "is_person"] = "unknown" if origin.is_unknown else True


def _identifier(value):
    """An id that can stand in a column and in an address; anything else is as good as none."""
    usable = isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()
    return value if usable and not value.startswith("@") else None  # @<offset> is what we call a record without one


def _name(value):
    return value[:MAX_NAME].replace("\x00", "\ufffd") if isinstance(value, str) else None


def _text(value):
    return value if isinstance(value, str) else None


def _texts(value):
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
