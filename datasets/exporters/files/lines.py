"""Rows as lines of a file."""

from typing import Any

from openclaw_web import spreadsheets

from ..changes import CHARACTERS_REPLACED, FORMULAS_MARKED, Changes
from ..cleaning import as_json, clean
from ..conversations.exchanges import Conversation

Row = dict[str, Any]


def as_line(row: Row, changes: Changes) -> tuple[bytes, Row, Changes]:
    """A row as a line of JSON, the row as it then reads, and what was done to it in all."""
    (column, said), *others = row.items()
    if not isinstance(said, Conversation):
        data, row, is_cleaned = as_json(row)
        return data + b"\n", row, changes | {CHARACTERS_REPLACED} if is_cleaned else changes
    rest, read, is_cleaned = as_json(dict(others))
    end = b"," + rest[1:] if others else rest[1:]
    line = b"".join([b'{"', column.encode(), b'":[', said.json, b"]", end, b"\n"])
    changes = changes | said.changes
    return line, {column: said, **read}, changes | {CHARACTERS_REPLACED} if is_cleaned else changes


def as_csv(row: Row, changes: Changes) -> tuple[bytes, Row, Changes]:
    """A row as lines of CSV, the row as it then reads, and what was done to it in all."""
    cleaned = clean(row)
    read = {name: spreadsheets.cell(value) for name, value in cleaned.items()}
    done = {
        name for name, is_so in ((CHARACTERS_REPLACED, cleaned != row), (FORMULAS_MARKED, read != cleaned)) if is_so
    }
    return spreadsheets.lines([cleaned.values()]), read, changes | done


def head(kind: str, columns: tuple[str, ...]) -> bytes:
    """What a file begins with, before its first row."""
    return spreadsheets.MARK + spreadsheets.lines([columns]) if kind == "csv" else b""
