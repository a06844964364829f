"""A `reflection.db` of the shape that Reflection's requirements give it, read into decisions.

No released version of the plugin writes one; whoever has one has it from something that follows the document. Any
column but those of a decision itself may be missing.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ledger.collectors.database import Damaged, Database
from ledger.collectors.database_tables import Tables
from ledger.collectors.jsonl import load_object
from ledger.collectors.records import MAX_NAME, moment_ms

from .found import DECISIONS, ROLES, FoundDecision, Problem, Said, failure_of
from .lines import text_in

DECISION, TURN, SESSION, CONTEXT = (
    "memory_gate_decisions",
    "conversation_turns",
    "sessions",
    "conversation_contexts",
)
TABLES: Tables = {
    DECISION: (
        *("id", "turn_id", "session_id", "decision", "reason", "candidate_fact", "llm_model", "llm_latency_ms"),
        *("prompt_tokens", "completion_tokens", "raw_response", "created_at"),
    ),
    TURN: (
        *("id", "turn_number", "user_message_id", "user_message_content", "user_from"),
        *("agent_message_id", "agent_message_content", "created_at"),
    ),
    SESSION: ("id", "metadata"),
    CONTEXT: ("turn_id", "role", "message", "timestamp", "sequence_number"),
}
NEEDED = ("id", "decision", "created_at")
# The tables beside the decisions: how their rows are found, and what they must have to be of use.
BESIDE = {
    TURN: ("id", "turn_id", ("id",)),
    SESSION: ("id", "session_id", ("id", "metadata")),
    CONTEXT: ("turn_id", "turn_id", ("turn_id", "role", "message", "timestamp")),
}
Row = dict[tuple[str, str], Any]


@dataclass(frozen=True, slots=True)
class StoredDecision(FoundDecision):
    """A decision that has an id of its own, and what a database can say of it besides."""

    turn_id: str | None
    session_id: str | None  # the key that the plugin has for the conversation
    prompt_tokens: int | None
    completion_tokens: int | None
    raw_response: str | None
    turn_number: int | None
    user_message_id: str | None
    user_message: Said | None
    agent_message_id: str | None


# What is beside a decision, as long as it is not known.
NOTHING: dict[str, None] = dict.fromkeys(
    ("turn_number", "user_message_id", "user_message", "agent_message_id", "reply", "window")
)


class _Unusable(Exception):
    """A value is not what its column is for."""


def read(connection: sqlite3.Connection | Database) -> Iterator[StoredDecision | Problem]:
    """The decisions of a database, and what is wrong with the others; never raises for what is in it.

    The connection is one to a private copy, opened for nothing else: from now on it reads only TABLES.
    """
    try:
        database = connection if isinstance(connection, Database) else Database(connection, TABLES)
        yield from _not_tables(database)
        if database.has(DECISION, *NEEDED):
            yield from _decisions(database)
        elif DECISION in database.columns:
            yield Problem("bad_database", f"{DECISION} lacks one of the columns {', '.join(NEEDED)}")
        else:
            yield Problem("bad_database", f"there is no table {DECISION}")
    except Damaged as exc:
        yield Problem("damaged_database", str(exc))


def _not_tables(database):
    """What has the name of a table and is something else: it is not read."""
    for kind, name in database.ask("SELECT type, name FROM sqlite_master"):
        known = name.decode(errors="replace")
        if known in TABLES and known not in database.columns:
            what = "virtual table" if kind == b"table" else kind.decode(errors="replace")
            is_computed = known in database.computed
            words = f"{known} has generated columns" if is_computed else f"{known} is a {what}, not a table"
            yield Problem("bad_database", words)


def _decisions(database):
    """Each decision with what is beside it: its own columns come again with each message of its window."""
    columns, joins = [(DECISION, name) for name in TABLES[DECISION]], []
    for table, (own, named, needed) in BESIDE.items():
        if database.has(table, *needed) and database.has(DECISION, named):
            columns += [(table, name) for name in TABLES[table]]
            joins.append(f"LEFT JOIN {table} ON {table}.{own} = {DECISION}.{named}")
    missing = {(DECISION, "reason"): "''"}  # a NULL in a column that is there is damage
    chosen = [
        f"{table}.{name}" if database.has(table, name) else missing.get((table, name), "NULL")
        for table, name in columns
    ]
    sql = f"SELECT {', '.join(chosen)} FROM {DECISION} {' '.join(joins)}"  # noqa: S608 - names of this module
    rows = (dict(zip(columns, row, strict=True)) for row in database.ask(sql))
    for _, group in groupby(rows, key=lambda row: [row[DECISION, name] for name in TABLES[DECISION]]):
        yield from _decision(list(group))


def _decision(rows):
    """A decision, and problems: what is beside one may be unusable without harm to the decision itself."""
    try:
        own = _own(rows[0])
    except _Unusable as exc:
        yield Problem("bad_decision", str(exc))
        return
    beside: dict[str, Any] = dict(NOTHING)
    for part in (_turn, _window):
        try:
            beside |= part(rows)
        except _Unusable as exc:
            yield Problem("bad_decision", f"{own['id']}: {exc}")
    heard = beside["window"] or ()
    yield StoredDecision(
        **own,
        **beside,
        original_key=_original_key(rows[0]),
        expected=None,
        saw_user=_saw(beside["user_message"], heard, "user"),
        saw_reply=_saw(beside["reply"], heard, "agent"),
        workspace=None,
    )


def _own(row):
    """What the row of a decision says."""
    id_, decision, reason = (_text(row, DECISION, name) for name in ("id", "decision", "reason"))
    at = _moment(row, DECISION, "created_at")
    if not id_ or len(id_) > MAX_NAME:
        raise _Unusable("no usable id")
    if decision not in DECISIONS:
        raise _Unusable(f"{id_}: unknown decision {str(decision)[:MAX_NAME]}")
    if reason is None or at is None:
        raise _Unusable(f"{id_}: no {'reason' if reason is None else 'time'}")
    session_id, fact = _text(row, DECISION, "session_id"), _text(row, DECISION, "candidate_fact")
    return {
        "id": id_,
        "at": at,
        "session_key": session_id,
        "session_id": session_id,
        "turn_id": _text(row, DECISION, "turn_id"),
        "decision": decision,
        "reason": reason,
        "fact": fact,
        "has_fact": bool(fact),
        "failure": failure_of(decision, reason),
        "model": _text(row, DECISION, "llm_model"),
        "latency_ms": _count(row, DECISION, "llm_latency_ms"),
        "prompt_tokens": _count(row, DECISION, "prompt_tokens"),
        "completion_tokens": _count(row, DECISION, "completion_tokens"),
        "raw_response": _text(row, DECISION, "raw_response"),
    }


def _turn(rows):
    """The turn that was judged."""
    row = rows[0]
    if row.get((TURN, "id")) is None:
        return {}
    at = _moment(row, TURN, "created_at") or _moment(row, DECISION, "created_at")
    asked, answered = _text(row, TURN, "user_message_content"), _text(row, TURN, "agent_message_content")
    return {
        "turn_number": _count(row, TURN, "turn_number"),
        "user_message_id": _text(row, TURN, "user_message_id"),
        "user_message": None if asked is None else Said("user", asked, at, _text(row, TURN, "user_from") or ""),
        "agent_message_id": _text(row, TURN, "agent_message_id"),
        "reply": None if answered is None else Said("agent", answered, at),
    }


def _window(rows):
    """The messages that the gate was given, in their order."""
    said: dict[tuple[int, Said], None] = {}
    for row in rows:
        if row.get((CONTEXT, "turn_id")) is not None:
            role, message = _text(row, CONTEXT, "role"), _text(row, CONTEXT, "message")
            at, place = _moment(row, CONTEXT, "timestamp"), _count(row, CONTEXT, "sequence_number")
            if role not in ROLES or message is None or at is None:
                raise _Unusable("a message of its context cannot be read")
            said[place or 0, Said(role, message, at)] = None
    return {"window": tuple(one for _, one in sorted(said, key=lambda pair: pair[0])) or None}


def _original_key(row):
    """OpenClaw's own key of the conversation, when the plugin kept it."""
    data = row.get((SESSION, "metadata"))
    try:
        return text_in(load_object(data), "sessionKey") or None if isinstance(data, bytes) else None
    except ValueError:
        return None


def _saw(message, window, role):
    """Whether there was a message of somebody; None when nothing is known of the conversation."""
    if message is None and not window:
        return None
    return bool(message and message.message.strip()) or any(said.role == role for said in window)


def _text(row, table, name):
    value = row[table, name]
    if value is None:
        return None
    if not isinstance(value, bytes):
        raise _Unusable(f"{name} is no text")
    try:
        return value.decode()
    except UnicodeDecodeError as exc:
        raise _Unusable(f"{name} is not UTF-8") from exc


def _count(row, table, name):
    value = row[table, name]
    if value is None:
        return None
    if isinstance(value, bytes) or not 0 <= value < 2**53 or value != int(value):
        raise _Unusable(f"{name} is no count")
    return int(value)


def _moment(row, table, name):
    value = row[table, name]
    if value is None:
        return None
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if (found := moment_ms(value)) is None:
        raise _Unusable(f"{name} is no time")
    return found
