"""Encodes rows as lines of a file, with numbered tokens in place of markers."""

from functools import lru_cache
from typing import Any

import orjson

from openclaw_web import spreadsheets

from ..changes import CHARACTERS_REPLACED, FORMULAS_MARKED, LONG_CELLS, Changes
from ..conversations.exchanges import Conversation
from ..json_output import clean_value, encode_value
from ..markers import TokenNumbers, has_marker
from ..prompts import EMPTY

Row = dict[str, Any]


def encode_line(row: Row, changes: Changes, numbers: TokenNumbers | None = None) -> tuple[bytes, Row, Changes]:
    """A row as a line of JSON, the row as it reads back, and its changes.

    `numbers`: those of a line about the same row, which has the same tokens. A conversation that is read back has
    markers.
    """
    numbers = TokenNumbers() if numbers is None else numbers
    (column, conversation), *others = row.items()
    if not isinstance(conversation, Conversation):
        data, row, is_cleaned = encode_value(row)
        if has_marker(data):
            data = numbers.encode(data)
            row = orjson.loads(data)
        changes |= numbers.changes
        return data + b"\n", row, changes | {CHARACTERS_REPLACED} if is_cleaned else changes
    columns = dict(others)
    has_prompts = EMPTY.keys() <= columns.keys()
    is_given = has_prompts and any(columns[name] != empty_value for name, empty_value in EMPTY.items())
    rest, read, is_cleaned = _encode_with_prompts(columns) if is_given else encode_value(columns)
    end = b"," + rest[1:] if others else rest[1:]
    start = b"".join([b'{"', column.encode(), b'":[', conversation.json, b"]"])
    start, numbered_end = numbers.encode_parts([start, end])
    if numbered_end != end:
        read = orjson.loads(b"{" + numbered_end[1:])
    line = start + numbered_end + b"\n"
    changes = changes | conversation.changes | numbers.changes
    return line, {column: conversation, **read}, changes | {CHARACTERS_REPLACED} if is_cleaned else changes


def encode_csv(row: Row, changes: Changes, numbers: TokenNumbers | None = None) -> tuple[bytes, Row, Changes]:
    """A row as lines of CSV, the row as it reads back, and its changes."""
    numbers = TokenNumbers() if numbers is None else numbers
    cleaned = clean_value(row)
    cells = numbers.encode_cells(cleaned)
    read = {name: spreadsheets.format_cell(value) for name, value in cells.items()}
    is_long = any(map(spreadsheets.is_long_cell, cells.values()))
    checks = ((CHARACTERS_REPLACED, cleaned != row), (FORMULAS_MARKED, read != cells), (LONG_CELLS, is_long))
    done = {name for name, is_so in checks if is_so}
    return spreadsheets.format_lines([cells.values()]), read, changes | done | numbers.changes


def build_head(kind: str, columns: tuple[str, ...]) -> bytes:
    """The bytes that stand before a file's first row."""
    return spreadsheets.MARK + spreadsheets.format_lines([columns]) if kind == "csv" else b""


def _encode_with_prompts(others):
    """The other columns of a row with a system prompt or tools, as JSON.

    Returns the same values as json_output.encode_value.
    """
    shared = {name: _encode_shared(others[name]) for name in EMPTY}
    data, read, is_cleaned = encode_value(
        {**others, **{name: orjson.Fragment(encoded[0]) for name, encoded in shared.items()}}
    )
    read |= {name: text for name, (_, text, _) in shared.items()}
    return data, read, is_cleaned or any(is_text_cleaned for _, _, is_text_cleaned in shared.values())


@lru_cache(maxsize=8)
def _encode_shared(text: str) -> tuple[bytes, str, bool]:
    """Encode a text that the rows of a session share; the result is cached.

    The text may be longer than all the rest of the rows.
    """
    return encode_value(text)
