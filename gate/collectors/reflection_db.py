"""A `reflection.db` of the shape that Reflection's requirements give it, read into decisions.

No released version of the plugin writes one; whoever has one has it from something that follows the document. Any
column but those of a decision itself may be missing.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import Tables
from ledger.collectors.jsonl import load_object
from ledger.collectors.records import MAX_NAME, parse_moment_ms

from .batches import count_row_bytes, split_batches
from .log_lines import get_text
from .source_decisions import (
    DECISIONS,
    ROLES,
    WINDOW_BYTES,
    RecentMessages,
    Rejection,
    SourceDecision,
    SourceMessage,
    parse_failure,
)

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
AT_ONCE = 50  # decisions for which the tables beside them are asked: those may have no index
NEEDED = ("id", "decision", "created_at")
# The tables beside the decisions: how their rows are found, and what they must have to be of use.
BESIDE = {
    TURN: ("id", "turn_id", ("id",)),
    SESSION: ("id", "session_id", ("id", "metadata")),
    CONTEXT: ("turn_id", "turn_id", ("turn_id", "role", "message", "timestamp")),
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DatabaseDecision(SourceDecision):
    """A decision that has an id of its own, and what a database can say of it besides."""

    turn_id: str | None
    session_id: str | None  # the key that the plugin has for the conversation
    prompt_tokens: int | None
    completion_tokens: int | None
    raw_response: str | None
    turn_number: int | None
    user_message_id: str | None
    user_message: SourceMessage | None
    agent_message_id: str | None


# What is beside a decision, as long as it is not known.
NOTHING: dict[str, None] = dict.fromkeys(
    ("turn_number", "user_message_id", "user_message", "agent_message_id", "reply", "window")
)


class _Unusable(Exception):
    """A value is not what its column is for."""


def read(connection: sqlite3.Connection | Database) -> Iterator[DatabaseDecision | Rejection]:
    """The decisions of a database, and what is wrong with the others; never raises for what is in it.

    The connection is one to a private copy, opened for nothing else: from now on it reads only TABLES.
    """
    try:
        database = connection if isinstance(connection, Database) else Database(connection, TABLES)
        yield from _not_tables(database)
        if database.has(DECISION, *NEEDED):
            yield from _decisions(database)
        elif DECISION in database.columns:
            yield Rejection("bad_database", f"{DECISION} lacks one of the columns {', '.join(NEEDED)}")
        else:
            yield Rejection("bad_database", f"there is no table {DECISION}")
    except DamagedDatabase as exc:
        yield Rejection("damaged_database", str(exc))


def _not_tables(database):
    """What has the name of a table and is something else: it is not read."""
    for kind, name in database.ask("SELECT type, name FROM sqlite_master"):
        known = name.decode(errors="replace")
        if known in TABLES and known not in database.columns:
            what = "virtual table" if kind == b"table" else kind.decode(errors="replace")
            is_computed = known in database.computed
            words = f"{known} has generated columns" if is_computed else f"{known} is a {what}, not a table"
            yield Rejection("bad_database", words)


def _decisions(database):
    """Each decision with what is beside it, a bounded number at once: the other tables may have no index.

    Those of one turn follow one another, so that the messages before it are read once.
    """
    names = TABLES[DECISION]
    windows: dict[Any, RecentMessages | str] = {}
    for batch in split_batches(database.rows(DECISION, *names, order="turn_id"), count_row_bytes, AT_ONCE):
        rows = [dict(zip(names, row, strict=True)) for row in batch]
        keys = _keys_of_sessions(database, rows)
        windows = _windows(database, rows, windows)
        turns = {row["id"]: _short(row) for row in _beside(database, TURN, rows)}
        for row in rows:
            yield from _decision(database, row, turns.get(row["turn_id"]), windows, keys)


def _short(turn):
    """A turn without the texts that are too long for a window; how many those are."""
    sides = [f"{who}_message_content" for who in ("user", "agent")]
    long = [name for name in sides if isinstance(turn[name], bytes) and len(turn[name]) > WINDOW_BYTES]
    return turn | dict.fromkeys(long) | {"left_out": len(long)}


def _beside(database, table, rows, order=""):
    """The rows that a table has beside these decisions, one after the other."""
    own, named, needed = BESIDE[table]
    values = tuple({row[named] for row in rows if row[named] is not None})
    if not values or not database.has(table, *needed) or not database.has(DECISION, named):
        return
    # Texts come as bytes, which no text of a table equals.
    texts = tuple(value.decode(errors="replace") if isinstance(value, bytes) else value for value in values)
    where = f"{own} IN ({', '.join('?' * len(texts))})"
    for row in database.rows(table, *TABLES[table], where=where, values=texts, order=order):
        yield dict(zip(TABLES[table], row, strict=True))


def _keys_of_sessions(database, rows):
    """OpenClaw's own keys of conversations, where the plugin kept them, by the session."""
    return {row["id"]: _original_key(row) for row in _beside(database, SESSION, rows)}


def _windows(database, rows, before):
    """The newest messages that the gate was given on each of these turns; a sentence where one cannot be read."""
    known = {row["turn_id"]: before[row["turn_id"]] for row in rows if row["turn_id"] in before}
    found: dict[Any, RecentMessages | str] = {}
    new = [row for row in rows if row["turn_id"] not in known]
    for row in _beside(database, CONTEXT, new, "sequence_number"):
        newest = found.setdefault(row["turn_id"], RecentMessages())
        if isinstance(newest, str):
            continue
        try:
            said = _message(row)
        except _Unusable as exc:
            found[row["turn_id"]] = str(exc)
            continue
        if said not in newest.messages:
            newest.add(said)
    return known | {turn: newest if isinstance(newest, str) else _window(newest) for turn, newest in found.items()}


def _message(row):
    role, message = _text(row, "role"), _text(row, "message")
    at, _place = _moment(row, "timestamp"), _count(row, "sequence_number")
    if role not in ROLES or message is None or at is None:
        raise _Unusable("a message of its context cannot be read")
    return SourceMessage(role, message, at)


def _window(newest):
    return tuple(newest.messages), newest.left_out


def _decision(database, row, turn, windows, keys):
    """A decision, and problems: what is beside one may be unusable without harm to the decision itself."""
    if not database.has(DECISION, "reason"):  # a NULL in a column that is there is damage
        row["reason"] = b""
    try:
        own = _own(row)
    except _Unusable as exc:
        yield Rejection("bad_decision", str(exc))
        return
    beside: dict[str, Any] = dict(NOTHING)
    window = windows.get(row["turn_id"])
    try:
        beside |= _turn(turn, own["at"]) if turn else {}
    except _Unusable as exc:
        yield Rejection("bad_decision", f"{own['id']}: {exc}")
    if isinstance(window, str):
        yield Rejection("bad_decision", f"{own['id']}: {window}")
        window = None
    heard, left_out = window or ((), 0)
    left_out += beside.pop("left_out", 0)
    beside["window"] = heard or None
    yield DatabaseDecision(
        **own,
        **beside,
        left_out=left_out,
        original_key=keys.get(row["session_id"]),
        expected=None,
        saw_user=_saw(beside["user_message"], heard, "user"),
        saw_reply=_saw(beside["reply"], heard, "agent"),
        workspace=None,
    )


def _own(row):
    """What the row of a decision says."""
    id_, decision, reason = (_text(row, name) for name in ("id", "decision", "reason"))
    at = _moment(row, "created_at")
    if not id_ or len(id_) > MAX_NAME:
        raise _Unusable("no usable id")
    if decision not in DECISIONS:
        raise _Unusable(f"{id_}: unknown decision {str(decision)[:MAX_NAME]}")
    if reason is None or at is None:
        raise _Unusable(f"{id_}: no {'reason' if reason is None else 'time'}")
    session_id, fact = _text(row, "session_id"), _text(row, "candidate_fact")
    return {
        "id": id_,
        "at": at,
        "session_key": session_id,
        "session_id": session_id,
        "turn_id": _text(row, "turn_id"),
        "decision": decision,
        "reason": reason,
        "fact": fact,
        "has_fact": bool(fact),
        "failure": parse_failure(decision, reason),
        "model": _text(row, "llm_model"),
        "latency_ms": _count(row, "llm_latency_ms"),
        "prompt_tokens": _count(row, "prompt_tokens"),
        "completion_tokens": _count(row, "completion_tokens"),
        "raw_response": _text(row, "raw_response"),
    }


def _turn(row, decided_at):
    """The turn that was judged."""
    at = _moment(row, "created_at") or decided_at
    asked, answered = (_text(row, f"{who}_message_content") for who in ("user", "agent"))
    return {
        "turn_number": _count(row, "turn_number"),
        "user_message_id": _text(row, "user_message_id"),
        "user_message": None if asked is None else SourceMessage("user", asked, at, _text(row, "user_from") or ""),
        "agent_message_id": _text(row, "agent_message_id"),
        "reply": None if answered is None else SourceMessage("agent", answered, at),
        "left_out": row["left_out"],
    }


def _original_key(row):
    """OpenClaw's own key of the conversation, when the plugin kept it."""
    data = row["metadata"]
    if not isinstance(data, bytes) or len(data) > WINDOW_BYTES:
        return None
    try:
        return get_text(load_object(data), "sessionKey") or None
    except ValueError:
        return None


def _saw(message, window, role):
    """Whether there was a message of somebody; None when nothing is known of the conversation."""
    if message is None and not window:
        return None
    return bool(message and message.message.strip()) or any(said.role == role for said in window)


def _text(row, name):
    value = row[name]
    if value is None:
        return None
    if not isinstance(value, bytes):
        raise _Unusable(f"{name} is no text")
    try:
        return value.decode()
    except UnicodeDecodeError as exc:
        raise _Unusable(f"{name} is not UTF-8") from exc


def _count(row, name):
    value = row[name]
    if value is None:
        return None
    if isinstance(value, bytes) or not 0 <= value < 2**53 or value != int(value):
        raise _Unusable(f"{name} is no count")
    return int(value)


def _moment(row, name):
    value = row[name]
    if value is None:
        return None
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if (found := parse_moment_ms(value)) is None:
        raise _Unusable(f"{name} is no time")
    return found
