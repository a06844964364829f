"""Rows as lines of a file."""

from functools import lru_cache
from typing import Any

import orjson

from ..changes import CHARACTERS_REPLACED, Changes
from ..cleaning import as_json
from ..conversations.exchanges import Conversation
from ..prompts import EMPTY

Row = dict[str, Any]


def as_line(row: Row, changes: Changes) -> tuple[bytes, Row, Changes]:
    """A row as a line of JSON, the row as it then reads, and what was done to it in all."""
    said = row.get("conversations")
    if not isinstance(said, Conversation):
        data, row, is_cleaned = as_json(row)
        return data + b"\n", row, changes | {CHARACTERS_REPLACED} if is_cleaned else changes
    others = {name: value for name, value in row.items() if value is not said}
    is_given = any(others[name] != nothing for name, nothing in EMPTY.items())
    rest, others, is_cleaned = _with_prompts(others) if is_given else as_json(others)
    line = b"".join([b'{"conversations":[', said.json, b"],", rest[1:], b"\n"])
    changes = changes | said.changes
    return line, {"conversations": said, **others}, changes | {CHARACTERS_REPLACED} if is_cleaned else changes


def _with_prompts(others):
    """`as_json` of the other columns of a row that says what its model was given."""
    shared = {name: _shared(others[name]) for name in EMPTY}
    data, read, is_cleaned = as_json({**others, **{name: orjson.Fragment(found[0]) for name, found in shared.items()}})
    read |= {name: text for name, (_, text, _) in shared.items()}
    return data, read, is_cleaned or any(is_so for _, _, is_so in shared.values())


@lru_cache(maxsize=8)
def _shared(text: str) -> tuple[bytes, str, bool]:
    """`as_json` of a text that the rows of a session share: it may be longer than all the rest of them."""
    return as_json(text)
