"""Rows of one session as lines of JSON, for archives, comparison and restoring."""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson
from django.db import models
from django.utils.translation import gettext as _

from artifacts.models import Artifact
from openclaw_web.errors import Refused
from openclaw_web.sqlite import dialect, statements

from .. import rules
from ..collectors.answers import NOT_KNOWN
from ..models import (
    ConversationContext,
    ConversationTurn,
    PromptReport,
    RejectedRecord,
    Session,
    SessionDay,
    SessionTool,
    TrajectoryEvent,
    TranscriptEvent,
    TranscriptSnapshot,
)
from . import row_checks

BYTES = "base64"
ROWS = 500
IDENTITIES = "transcript_event_identities"  # a view of columns of a record, which have lines of their own
IDENTITY = ("event_id", "event_type", "parent_id", "message_idempotency_key")
COUNTED = {(Session, "kind_counts"), (Session, "id_checksum"), (TranscriptEvent, "error_group")}
ELSEWHERE = COUNTED | {(TranscriptEvent, name) for name in IDENTITY}
# Columns that archives may lack, with the values that the update gave to stored rows.
ADDED: dict[str, dict[str, Any]] = {
    "sessions": {"rules": rules.OLDER},
    "conversation_turns": {"answer_state": "", "asked_model": None, "delivery": NOT_KNOWN},
}


class WrongRow(Refused):
    """A row that cannot belong to the session, or to any."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with rows of sessions: their order, and whether rows may exist already."""

    model: type[models.Model]
    order: str
    is_shared: bool = False
    is_numbered: bool = False  # its ids are numbers of this file: in another file they name other rows
    view: str = ""  # of the spec, with columns of the table that have lines of their own; an update restores them

    @property
    def name(self) -> str:
        return self.view or self.model._meta.db_table

    @property
    def columns(self) -> dict[str, models.Field]:
        """Its columns by name, without those that are counted anew when rows are restored, or have other lines."""
        fields = {field.column: field for field in self.model._meta.concrete_fields}
        if self.view:
            names = ("session_id", "event_id", "seq", "event_type", "has_parent", *IDENTITY[2:], "created_at")
            return {name: fields.get(name) or models.BooleanField() for name in names}
        return {name: field for name, field in fields.items() if (self.model, name) not in ELSEWHERE}

    @property
    def condition(self) -> str:
        """The SQL condition for the rows of a session."""
        if self.model is PromptReport:
            return "id = (SELECT prompt_report_id FROM sessions WHERE id = %s)"
        if self.model is ConversationContext:
            return "turn_id IN (SELECT id FROM conversation_turns WHERE session_id = %s)"
        return "id = %s" if self.model is Session else "session_id = %s"


# In the order in which rows can be inserted.
TABLES = (
    Table(PromptReport, "id", is_shared=True),
    Table(Session, "id"),
    Table(TranscriptEvent, "seq"),
    Table(TranscriptEvent, "seq, event_id", view=IDENTITIES),
    Table(TranscriptSnapshot, "snapshot_id"),
    Table(ConversationTurn, "turn_number"),
    Table(ConversationContext, "turn_id, sequence_number", is_numbered=True),
    Table(SessionDay, "date"),
    Table(SessionTool, "date, tool"),
    Table(TrajectoryEvent, "id"),
    Table(RejectedRecord, "file, byte_offset", is_shared=True, is_numbered=True),
    Table(Artifact, "id", is_shared=True),
)
TABLES_BY_NAME = {table.name: table for table in TABLES}
# Rows of these tables are deleted with a session. Its sums stay, and so does a prompt report that others may have.
STAYING = {PromptReport, SessionDay, SessionTool}
GOING = tuple(table for table in reversed(TABLES) if table.model not in STAYING and not table.view)
IDENTIFY = f"""
    UPDATE transcript_events SET {", ".join(f"{name} = %s" for name in IDENTITY)} WHERE session_id = %s AND seq = %s
"""  # noqa: S608 - constants


def read_row_lines(db: str, session_id: str, *, is_older: bool = False) -> Iterator[tuple[str, bytes]]:
    """Every row of a session in a fixed order, as (table, JSON with a line feed).

    `is_older`: without the columns ADDED.
    """
    for table in TABLES:
        names = [name for name in table.columns if not (is_older and name in ADDED.get(table.name, ()))]
        query = f"SELECT {', '.join(names)} FROM {table.name} WHERE {table.condition} ORDER BY {table.order}"  # noqa: S608
        for values in statements.iterate_rows(db, query, [session_id]):
            row = dict(zip(names, map(_encode_value, values), strict=True))
            if table.view:  # as the column of a table gave it
                row["has_parent"] = bool(row["has_parent"])
            content = {"table": table.name, "row": row}
            yield table.name, orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)


def compute_digest(db: str, session_id: str, *, is_older: bool = False) -> str:
    """A SHA-256 of all rows of a session as they are now, in hex; `is_older` as in `read_row_lines`."""
    hasher = hashlib.sha256()
    for table, line in read_row_lines(db, session_id, is_older=is_older):
        hasher.update(strip_row_id(table, line))
    return hasher.hexdigest()


def strip_row_id(table: str, line: bytes) -> bytes:
    """The part of a line that the digest covers: all, except ids that differ between files."""
    if not TABLES_BY_NAME[table].is_numbered:
        return line
    content = orjson.loads(line)
    content["row"] = {name: value for name, value in _get_row(content).items() if name != "id"}
    return orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)


def check_row(session_id: str, table: str, row: Any) -> None:
    """Check that `insert_rows` would accept a row. Raises WrongRow."""
    _check_values(session_id, TABLES_BY_NAME[table], TABLES_BY_NAME[table].columns, row)


def insert_rows(db: str, session_id: str, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows that `read_row_lines` gave, in the caller's transaction. Raises WrongRow.

    A row gets a new number when another row has its number by now.
    """
    columns = table.columns
    verb = dialect.INSERT_OR_LEAVE if table.is_shared else "INSERT"
    unused_id = f"(SELECT ours.id FROM (SELECT %s AS id) ours WHERE ours.id NOT IN (SELECT id FROM {table.name}))"  # noqa: S608
    marks = ", ".join(unused_id if table.is_numbered and name == "id" else "%s" for name in columns)
    query = f"{verb} INTO {table.name} ({', '.join(columns)}) VALUES ({marks})"
    waiting = iter(rows)
    while batch := list(islice(waiting, ROWS)):
        checked = [_check_values(session_id, table, columns, row) for row in batch]
        if table.view:
            checked = [[*map(row.get, (*IDENTITY, "session_id", "seq"))] for row in batch]
        statements.run_many(db, IDENTIFY if table.view else query, checked)


def delete_rows(db: str, session_id: str) -> None:
    """Delete the rows of a session, in the caller's transaction; its sums stay."""
    for table in GOING:
        statements.run(db, f"DELETE FROM {table.name} WHERE {table.condition}", [session_id])  # noqa: S608 - our tables


def _encode_value(value):
    return {BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _check_values(session_id, table, columns, row):
    """The values of a row, each checked against its column's type."""
    row = ADDED.get(table.name, {}) | row if isinstance(row, dict) else {}
    if row.keys() != columns.keys():
        raise _build_error(table, "?")
    if name := _find_foreign_column(session_id, table, row):
        raise _build_error(table, name)
    values = {name: _check_value(table, name, field, row) for name, field in columns.items()}
    if name := row_checks.find_wrong_column(table.name, values):
        raise _build_error(table, name)
    return list(values.values())


def _find_foreign_column(session_id, table, row):
    """The column that says that a row belongs to something else, or ""."""
    if table.model is PromptReport:
        return ""
    if table.model is ConversationContext:
        return "" if str(row.get("turn_id")).startswith(f"{session_id}:") else "turn_id"
    own = "id" if table.model is Session else "session_id"
    return "" if row.get(own) == session_id else own


def _check_value(table, name, field, row):
    value = _decode_bytes(row[name]) if isinstance(field, models.BinaryField) else row[name]
    field = field.target_field if field.is_relation else field
    is_right = (value is None and (field.null or table.columns[name].null)) or row_checks.is_valid_value(field, value)
    if not is_right:
        raise _build_error(table, name)
    return value


def _get_row(content):
    row = content.get("row")
    return row if isinstance(row, dict) else {}


def _decode_bytes(value):
    try:
        return base64.b64decode(value[BYTES], validate=True) if isinstance(value, dict) else value
    except (KeyError, TypeError, binascii.Error):
        return {}


def _build_error(table, name):
    names = {"table": table.name, "column": name}
    return WrongRow(_("The archive contains an invalid row of %(table)s: %(column)s.") % names)
