"""Rows as lines of a file."""

from typing import Any

from ..changes import CHARACTERS_REPLACED, Changes
from ..cleaning import as_json
from ..conversations.exchanges import Conversation

Row = dict[str, Any]


def as_line(row: Row, changes: Changes) -> tuple[bytes, Row, Changes]:
    """A row as a line of JSON, the row as it then reads, and what was done to it in all."""
    said = row.get("conversations")
    if not isinstance(said, Conversation):
        data, row, is_cleaned = as_json(row)
        return data + b"\n", row, changes | {CHARACTERS_REPLACED} if is_cleaned else changes
    rest, others, is_cleaned = as_json({name: value for name, value in row.items() if value is not said})
    line = b"".join([b'{"conversations":[', said.json, b"],", rest[1:], b"\n"])
    changes = changes | said.changes
    return line, {"conversations": said, **others}, changes | {CHARACTERS_REPLACED} if is_cleaned else changes
