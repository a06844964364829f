"""Rows as lines of a file."""

from functools import lru_cache
from typing import Any

import orjson

from openclaw_web import spreadsheets

from ..changes import CHARACTERS_REPLACED, FORMULAS_MARKED, LONG_CELLS, Changes
from ..conversations.exchanges import Conversation
from ..json_output import clean_value, encode_value
from ..prompts import EMPTY

Row = dict[str, Any]


def encode_line(row: Row, changes: Changes) -> tuple[bytes, Row, Changes]:
    """A row as a line of JSON, the row as it then reads, and what was done to it in all."""
    (column, said), *others = row.items()
    if not isinstance(said, Conversation):
        data, row, is_cleaned = encode_value(row)
        return data + b"\n", row, changes | {CHARACTERS_REPLACED} if is_cleaned else changes
    columns = dict(others)
    has_prompts = EMPTY.keys() <= columns.keys()
    is_given = has_prompts and any(columns[name] != nothing for name, nothing in EMPTY.items())
    rest, read, is_cleaned = _with_prompts(columns) if is_given else encode_value(columns)
    end = b"," + rest[1:] if others else rest[1:]
    line = b"".join([b'{"', column.encode(), b'":[', said.json, b"]", end, b"\n"])
    changes = changes | said.changes
    return line, {column: said, **read}, changes | {CHARACTERS_REPLACED} if is_cleaned else changes


def encode_csv(row: Row, changes: Changes) -> tuple[bytes, Row, Changes]:
    """A row as lines of CSV, the row as it then reads, and what was done to it in all."""
    cleaned = clean_value(row)
    read = {name: spreadsheets.format_cell(value) for name, value in cleaned.items()}
    is_long = any(map(spreadsheets.is_long_cell, cleaned.values()))
    found = ((CHARACTERS_REPLACED, cleaned != row), (FORMULAS_MARKED, read != cleaned), (LONG_CELLS, is_long))
    done = {name for name, is_so in found if is_so}
    return spreadsheets.format_lines([cleaned.values()]), read, changes | done


def build_head(kind: str, columns: tuple[str, ...]) -> bytes:
    """What a file begins with, before its first row."""
    return spreadsheets.MARK + spreadsheets.format_lines([columns]) if kind == "csv" else b""


def _with_prompts(others):
    """`as_json` of the other columns of a row that says what its model was given."""
    shared = {name: _shared(others[name]) for name in EMPTY}
    data, read, is_cleaned = encode_value(
        {**others, **{name: orjson.Fragment(found[0]) for name, found in shared.items()}}
    )
    read |= {name: text for name, (_, text, _) in shared.items()}
    return data, read, is_cleaned or any(is_so for _, _, is_so in shared.values())


@lru_cache(maxsize=8)
def _shared(text: str) -> tuple[bytes, str, bool]:
    """`as_json` of a text that the rows of a session share: it may be longer than all the rest of them."""
    return encode_value(text)
