"""Texts that are scanned: what one record or row holds, as a JSON value."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

WHOLE = "$"  # the path of a document that is one text
STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# What a record says of itself: ids, times, names of models and counts. None of it is anybody's words.
RECORD_FACTS = frozenset(
    {"type", "id", "parentId", "timestamp", "version", "seq", "provider", "modelId", "thinkingLevel", "targetId"}
    | {"firstKeptEntryId", "fromId", "tokensBefore", "tokensAfter"}
)
MESSAGE_FACTS = frozenset(
    {"role", "timestamp", "usage", "api", "provider", "model", "stopReason", "responseId", "responseModel"}
    | {"toolCallId", "toolName", "isError", "idempotencyKey"}
)
BLOCK_FACTS = frozenset(
    {"type", "id", "name", "toolCallId", "tool_use_id", "mimeType", "textSignature", "thinkingSignature"}
    | {"thoughtSignature", "signature", "encrypted_content"}
)
PICTURES = frozenset({"image", "audio", "video"})  # blocks whose `data` is no text


@dataclass(frozen=True, slots=True)
class Document:
    """One record or row to be scanned: `value` holds its texts, by JSON path.

    `cut` counts characters or bytes that are not in `value` because the text is too long.
    """

    source_id: str
    value: Any
    session_id: str | None = None
    turn_number: int | None = None
    cut: int = 0
    size: int = 0  # characters or bytes of the row, about


def select_record_texts(record: Any) -> Any:
    """The parts of a record that hold words, in the places where they stand.

    Left out are ids, times, counts and signatures around them. Arguments and results of tools stay as they are.
    """
    if not isinstance(record, dict):
        return record
    return {
        key: _select_message(part) if key == "message" else part
        for key, part in record.items()
        if key not in RECORD_FACTS
    }


def _select_message(message):
    if not isinstance(message, dict):
        return message
    return {
        key: _select_content(part) if key == "content" else part
        for key, part in message.items()
        if key not in MESSAGE_FACTS
    }


def _select_content(content):
    return [_select_block(block) for block in content] if isinstance(content, list) else content


def _select_block(block):
    if not isinstance(block, dict):
        return block
    left_out = BLOCK_FACTS | {"data", "source"} if block.get("type") in PICTURES else BLOCK_FACTS
    return {key: part for key, part in block.items() if key not in left_out}


def list_leaves(value: Any) -> Iterator[tuple[str, str]]:
    """Yield texts and numbers of a JSON value in any order, each with its nearest key."""
    stack = [("", value)]
    while stack:
        name, part = stack.pop()
        kind = type(part)  # as JSON readers make them: asking for subclasses takes a tenth of a scan
        if kind is str:
            yield name, part
        elif kind is dict:
            stack += part.items()
        elif kind is list:
            stack += [(name, child) for child in part]
        elif kind is int or kind is float:
            yield name, str(part)


def find_text(value: Any, path: str) -> str | None:
    """The text at a JSON path such as `$.message.content[0].text`; None when there is none.

    A number is returned as JSON writes it.
    """
    place = len(WHOLE)
    while place < len(path):
        step = STEP.match(path, place)
        if step is None:
            return None
        value = _get_child(value, step)
        place = step.end()
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _get_child(value, step):
    name, index, quoted = step.groups()
    if index is not None:
        return value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
    key = name if name is not None else ESCAPED.sub(r"\1", quoted)
    return value.get(key) if isinstance(value, dict) else None
