"""Compares every derived column of a session with its records: `doctor --deep`."""

from collections.abc import Iterator
from typing import Any

from openclaw_web.sqlite import statements

from ..models import Session
from ..transcripts.rows import TURN_COLUMNS
from ..transcripts.tool_days import SUM_COLUMNS
from . import derivation, repeats
from .derivation import DerivedRows
from .quick_checks import WrongSession, is_different

SNAPSHOT = ("snapshot_id", "reason", "event_count", "created_at", "metadata_json")
TOOLS = (*SUM_COLUMNS, "open_chars")


def find_differences(db: str) -> Iterator[WrongSession]:
    """The sessions of an agent with a derived column that differs from its records, by id."""
    for session_id in Session.objects.using(db).order_by("id").values_list("id", flat=True).iterator():
        with statements.read_transaction(db):
            derived = derivation.derive_rows(db, session_id)
            names = list(dict.fromkeys(_find_wrong_columns(db, derived))) if derived else []
        if names:
            yield WrongSession(session_id, names)
    for session_id in repeats.find_wrongly_marked(db):
        yield WrongSession(session_id, ["transcript_events.repeat_of"])


def _find_wrong_columns(db, derived: DerivedRows):
    for name, value in derived.columns.items():
        if is_different(value, getattr(derived.session, name)):
            yield f"sessions.{name}"
    for place, name in enumerate(("turn_number", "is_active")):
        if any(derived.stored[seq][place] != expected_place[place] for seq, expected_place in derived.places.items()):
            yield f"transcript_events.{name}"
    session_id = derived.session.id
    turns = [row for row in _read_stored(db, "conversation_turns", TURN_COLUMNS, session_id) if row["turn_number"] >= 0]
    yield from _find_unlike("conversation_turns", derived.turns, turns, "id")
    snapshots = [{name: getattr(row, name) for name in SNAPSHOT} for row in derived.snapshots]
    stored = _read_stored(db, "transcript_snapshots", SNAPSHOT, session_id)
    yield from _find_unlike("transcript_snapshots", snapshots, stored, "snapshot_id")
    days = _read_stored(db, "session_days", tuple(derived.days[0]) if derived.days else ("date",), session_id)
    yield from _find_unlike("session_days", derived.days, days, "date")
    tools = [
        {
            "day": f"{day} {tool}",
            "channel_id": derived.session.channel_id,
            **{name: getattr(sums, name) for name in TOOLS},
        }
        for (day, tool), sums in derived.tools.items()
    ]
    stored = _read_stored(db, "session_tools", ("date", "tool", "channel_id", *TOOLS), session_id)
    stored = [row | {"day": f"{row.pop('date')} {row.pop('tool')}"} for row in stored]
    yield from _find_unlike("session_tools", tools, stored, "day")


def _read_stored(db, table, columns, session_id) -> list[dict[str, Any]]:
    query = f"SELECT {', '.join(columns)} FROM {table} WHERE session_id = %s"  # noqa: S608 - our tables
    return [dict(zip(columns, row, strict=True)) for row in statements.read_rows(db, query, [session_id])]


def _find_unlike(table, expected, stored, key):
    """The columns in which stored rows differ from those that follow from the records."""
    by_key = {row[key]: row for row in stored}
    if by_key.keys() != {row[key] for row in expected}:
        yield table
    for row in expected:
        known = by_key.get(row[key], row)
        for name, value in row.items():
            if is_different(value, known[name]):
                yield f"{table}.{name}"
