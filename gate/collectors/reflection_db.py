"""Reads a `reflection.db`, whose shape Reflection's requirements define, into decisions.

No released version of the plugin writes one; such a file comes from other software that follows the document. Any
column but those of a decision itself may be missing.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import Tables
from ledger.collectors.database_values import Unusable, read_count, read_moment, read_text
from ledger.collectors.jsonl import load_object
from ledger.collectors.records import MAX_NAME

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
# What a source reports of a decision.
TEXTS = ("turn_id", "candidate_fact", "llm_model", "raw_response")
COUNTS = ("llm_latency_ms", "prompt_tokens", "completion_tokens")
TABLES: Tables = {
    DECISION: ("id", "session_id", "decision", "reason", "created_at", *TEXTS, *COUNTS),
    TURN: (
        *("id", "session_id", "turn_number", "user_message_id", "user_message_content", "user_from", "user_metadata"),
        *("agent_message_id", "agent_message_content", "agent_metadata", "created_at"),
    ),
    SESSION: ("id", "channel_id", "conversation_target", "account_id", "created_at", "last_activity_at", "metadata"),
    CONTEXT: ("turn_id", "role", "message", "timestamp", "sequence_number"),
}
AT_ONCE = 50  # decisions whose related rows are read together: their tables may have no index
NEEDED = ("id", "decision", "created_at")
# Tables with rows about decisions: the column that is compared, the decision's column, and the required columns.
RELATED_TABLES = {
    TURN: ("id", "turn_id", ("id",)),
    SESSION: ("id", "session_id", ("id", "metadata")),
    CONTEXT: ("turn_id", "turn_id", ("turn_id", "role", "message", "timestamp")),
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DatabaseDecision(SourceDecision):
    """A decision with an id of its own, and the other values of a database."""

    turn_id: str | None
    session_id: str | None  # the plugin's key of the conversation
    reported: dict[str, Any]
    turn_number: int | None
    user_message_id: str | None
    user_message: SourceMessage | None
    agent_message_id: str | None


# The values of the related tables, until they are read.
NO_RELATED_VALUES: dict[str, None] = dict.fromkeys(
    ("turn_number", "user_message_id", "user_message", "agent_message_id", "reply", "window")
)


def read(connection: sqlite3.Connection | Database) -> Iterator[DatabaseDecision | Rejection]:
    """Yield the decisions of a database, and a problem for each that cannot be used.

    Never raises for the content of the database. The connection must be one to a private copy, opened for this alone:
    from now on it reads only TABLES.
    """
    try:
        database = connection if isinstance(connection, Database) else Database(connection, TABLES)
        # A problem for each view, virtual or computed table with the name of a table.
        for kind, name in database.ask("SELECT type, name FROM sqlite_master"):
            known = name.decode(errors="replace")
            if known in TABLES and known not in database.columns:
                table_kind = "virtual table" if kind == b"table" else kind.decode(errors="replace")
                is_computed = known in database.computed
                words = f"{known} has generated columns" if is_computed else f"{known} is a {table_kind}, not a table"
                yield Rejection("bad_database", words)
        if database.has(DECISION, *NEEDED):
            yield from _read_decisions(database)
        elif DECISION in database.columns:
            yield Rejection("bad_database", f"{DECISION} lacks one of the columns {', '.join(NEEDED)}")
        else:
            yield Rejection("bad_database", f"there is no table {DECISION}")
    except DamagedDatabase as exc:
        yield Rejection("damaged_database", str(exc))


def read_sessions(database: Database) -> Iterator[Row]:
    """Yield the rows of its sessions; texts that are no UTF-8 have halves of characters."""
    for values in database.rows(SESSION, *TABLES[SESSION]):
        yield _decode_texts(dict(zip(TABLES[SESSION], values, strict=True)))


def read_turns(database: Database) -> Iterator[Row]:
    """Yield the rows of its turns as `read_sessions` does, with the messages before each as `context`."""
    rows = database.rows(TURN, *TABLES[TURN], order="turn_number")
    for batch in split_batches(rows, count_row_bytes, AT_ONCE):
        turns = [dict(zip(TABLES[TURN], row, strict=True)) for row in batch]
        windows = _read_windows(database, [row | {"turn_id": row["id"]} for row in turns], {})
        for row in turns:
            window = windows.get(row["id"], ((), 0))
            messages = () if isinstance(window, str) else window[0]
            context = [{"role": sent.role, "message": sent.message, "timestamp": sent.timestamp} for sent in messages]
            yield _decode_texts(row) | {"context": context}


def _decode_texts(row):
    return {
        name: value.decode(errors="surrogateescape") if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def _read_decisions(database):
    """Yield the decisions with their related rows, in bounded batches.

    The other tables may have no index. Decisions of one turn follow one another, so that the messages before it are
    read once.
    """
    names = TABLES[DECISION]
    windows: dict[Any, RecentMessages | str] = {}
    for batch in split_batches(database.rows(DECISION, *names, order="turn_id"), count_row_bytes, AT_ONCE):
        rows = [dict(zip(names, row, strict=True)) for row in batch]
        # OpenClaw's own keys of conversations by session, where the plugin stored them.
        keys = {row["id"]: _get_original_key(row) for row in _read_related(database, SESSION, rows)}
        windows = _read_windows(database, rows, windows)
        turns = {row["id"]: _drop_long_texts(row) for row in _read_related(database, TURN, rows)}
        for row in rows:
            yield from _build_decision(database, row, turns.get(row["turn_id"]), windows, keys)


def _drop_long_texts(turn):
    """Return a turn without texts that are too long for a window, and their count."""
    sides = [f"{who}_message_content" for who in ("user", "agent")]
    long = [name for name in sides if isinstance(turn[name], bytes) and len(turn[name]) > WINDOW_BYTES]
    return turn | dict.fromkeys(long) | {"left_out": len(long)}


def _read_related(database, table, rows, order=""):
    """Yield the rows of a table that are related to these decisions."""
    own, named, needed = RELATED_TABLES[table]
    values = tuple({row[named] for row in rows if row[named] is not None})
    if not values or not database.has(table, *needed) or not database.has(DECISION, named):
        return
    # Texts are read as bytes, which are not equal to any text of a table.
    texts = tuple(value.decode(errors="replace") if isinstance(value, bytes) else value for value in values)
    where = f"{own} IN ({', '.join('?' * len(texts))})"
    for row in database.rows(table, *TABLES[table], where=where, values=texts, order=order):
        yield dict(zip(TABLES[table], row, strict=True))


def _read_windows(database, rows, before):
    """Return the newest messages that the gate was given, by turn.

    The value is a sentence where a message cannot be read. `before` has turns that were read with the batch before.
    """
    known = {row["turn_id"]: before[row["turn_id"]] for row in rows if row["turn_id"] in before}
    new_windows: dict[Any, RecentMessages | str] = {}
    new = [row for row in rows if row["turn_id"] not in known]
    for row in _read_related(database, CONTEXT, new, "sequence_number"):
        newest = new_windows.setdefault(row["turn_id"], RecentMessages())
        if isinstance(newest, str):
            continue
        try:
            role, text = read_text(row, "role"), read_text(row, "message")
            at, _place = read_moment(row, "timestamp"), read_count(row, "sequence_number")
            if role not in ROLES or text is None or at is None:
                raise Unusable("a message of its context cannot be read")
            message = SourceMessage(role, text, at)
        except Unusable as exc:
            new_windows[row["turn_id"]] = str(exc)
            continue
        if message not in newest.messages:
            newest.add(message)
    return known | {
        turn: newest if isinstance(newest, str) else (tuple(newest.messages), newest.left_out)
        for turn, newest in new_windows.items()
    }


def _build_decision(database, row, turn, windows, keys):
    """Yield a decision, and problems.

    Related rows may be unusable without harm to the decision itself.
    """
    if not database.has(DECISION, "reason"):  # a NULL in an existing column is damage
        row["reason"] = b""
    try:
        own = _read_own_values(row)
    except Unusable as exc:
        yield Rejection("bad_decision", str(exc))
        return
    related: dict[str, Any] = dict(NO_RELATED_VALUES)
    window = windows.get(row["turn_id"])
    try:
        related |= _read_turn_values(turn, own["at"]) if turn else {}
    except Unusable as exc:
        yield Rejection("bad_decision", f"{own['id']}: {exc}")
    if isinstance(window, str):
        yield Rejection("bad_decision", f"{own['id']}: {window}")
        window = None
    messages, left_out = window or ((), 0)
    left_out += related.pop("left_out", 0)
    related["window"] = messages or None
    yield DatabaseDecision(
        **own,
        **related,
        left_out=left_out,
        original_key=keys.get(row["session_id"]),
        expected=None,
        saw_user=_has_message(related["user_message"], messages, "user"),
        saw_reply=_has_message(related["reply"], messages, "agent"),
        workspace=None,
    )


def _read_own_values(row):
    """Return the values of a decision's own row; raises Unusable."""
    id_, decision, reason = (read_text(row, name) for name in ("id", "decision", "reason"))
    at = read_moment(row, "created_at")
    if not id_ or len(id_) > MAX_NAME:
        raise Unusable("no usable id")
    if decision not in DECISIONS:
        raise Unusable(f"{id_}: unknown decision {str(decision)[:MAX_NAME]}")
    if reason is None or at is None:
        raise Unusable(f"{id_}: no {'reason' if reason is None else 'time'}")
    session_id = read_text(row, "session_id")
    reported = {name: read_text(row, name) for name in TEXTS} | {name: read_count(row, name) for name in COUNTS}
    fact = reported["candidate_fact"]
    return {
        "id": id_,
        "at": at,
        "session_key": session_id,
        "session_id": session_id,
        "turn_id": reported["turn_id"],
        "reported": reported,
        "decision": decision,
        "reason": reason,
        "fact": fact,
        "has_fact": bool(fact),
        "failure": parse_failure(decision, reason),
        "model": reported["llm_model"],
        "latency_ms": reported["llm_latency_ms"],
    }


def _read_turn_values(row, decided_at):
    """Return the values of the turn that was judged; raises Unusable."""
    at = read_moment(row, "created_at") or decided_at
    user_text, agent_text = (read_text(row, f"{who}_message_content") for who in ("user", "agent"))
    return {
        "turn_number": read_count(row, "turn_number"),
        "user_message_id": read_text(row, "user_message_id"),
        "user_message": None
        if user_text is None
        else SourceMessage("user", user_text, at, read_text(row, "user_from") or ""),
        "agent_message_id": read_text(row, "agent_message_id"),
        "reply": None if agent_text is None else SourceMessage("agent", agent_text, at),
        "left_out": row["left_out"],
    }


def _get_original_key(row):
    """Return OpenClaw's own key of the conversation, when the plugin stored it."""
    data = row["metadata"]
    if not isinstance(data, bytes) or len(data) > WINDOW_BYTES:
        return None
    try:
        return get_text(load_object(data), "sessionKey") or None
    except ValueError:
        return None


def _has_message(message, window, role):
    """Return whether the gate had a message of a role; None when none are known."""
    if message is None and not window:
        return None
    return bool(message and message.message.strip()) or any(recent.role == role for recent in window)
