"""Reads the episodic ledger of openclaw-mem (`memory/openclaw-mem.sqlite`), as its version 2.0.0 writes it.

The text that it searches (`search_text`) is not read: it repeats texts, also those of redacted events.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_schemas import Schema
from ledger.collectors.database_tables import Tables

EVENTS = "episodic_events"
COLUMNS = (
    *("id", "event_id", "ts_ms", "scope", "session_id", "agent_id", "type", "summary"),
    *("payload_json", "refs_json", "redacted", "schema_version", "created_at"),
)
TABLES: Tables = {EVENTS: COLUMNS}
NUMBERS = frozenset(["id", "ts_ms", "redacted"])
OPTIONAL = frozenset(["payload_json", "refs_json", "created_at"])
SCHEMA_VERSION = "openclaw-mem.episodic.v0"
MOST_HUGE = 100  # rows that SQLite cannot return because of their size
SCHEMA = Schema(
    range(3, 4),
    TABLES,
    frozenset(["docs_chunks", "observations", "pack_lifecycle_shadow_log"]),
    frozenset(
        [
            *("docs_embeddings", "episodic_event_embeddings", "graph_capture_git_seen", "graph_capture_md_seen"),
            *("meta", "observation_embeddings", "observation_embeddings_en"),
        ]
    ),
    {EVENTS: frozenset(["search_text"])},
)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row: its columns by name, or the `problem` that keeps it from being an event."""

    id: int
    values: dict[str, Any]
    problem: str = ""


def find_missing_columns(database: Database) -> list[str]:
    """Return the columns that the ledger lacks; none for a database without a ledger."""
    return [name for name in COLUMNS if EVENTS in database.columns and not database.has(EVENTS, name)]


def find_ends(database: Database, row_id: int) -> list[str]:
    """Return the event ids of the first row and of this one.

    A replaced ledger has others.
    """
    first = database.rows(EVENTS, "event_id", order="id")
    last = database.rows(EVENTS, "event_id", where="id = ?", values=(row_id,))
    ids = [next(rows, (b"",))[0] for rows in (first, last)]
    return [event_id.decode(errors="replace") if isinstance(event_id, bytes) else "" for event_id in ids]


def read_rows(database: Database, after: int) -> Iterator[SourceRow]:
    """Yield the rows after a row id, in order.

    A row that SQLite cannot return because of its size has that problem. Raises DamagedDatabase when SQLite fails.
    """
    for _ in range(MOST_HUGE):
        try:
            for values in database.rows(EVENTS, *COLUMNS, where="id > ?", values=(after,), order="id"):
                row = _build_row(dict(zip(COLUMNS, values, strict=True)))
                after = row.id
                yield row
            return
        except DamagedDatabase as exc:
            if "too big" not in str(exc):
                raise
        (after,) = next(database.rows(EVENTS, "id", where="id > ?", values=(after,), order="id"))
        yield SourceRow(after, {}, "too large to be read")
    raise DamagedDatabase(f"more than {MOST_HUGE} rows are too large to be read")


def _build_row(values):
    row_id = values["id"] if isinstance(values["id"], int) else 0
    values["created_at"] = _read_moment(values["created_at"])
    for name, value in values.items():
        if isinstance(value, bytes):
            try:
                values[name] = value.decode()
            except UnicodeDecodeError:
                return SourceRow(row_id, {}, f"{name} is not UTF-8")
        if not _fits(name, values[name]):
            return SourceRow(row_id, {}, f"{name} is {type(values[name]).__name__}")
    if not values["event_id"].strip():
        return SourceRow(row_id, {}, "event_id is empty")
    if values["schema_version"] != SCHEMA_VERSION:
        return SourceRow(row_id, {}, f"unknown schema {values['schema_version'][:100]}")
    return SourceRow(row_id, values)


def _read_moment(value: Any) -> str | None:
    """Return a time of ISO 8601 as the source wrote it; None for anything else, which keeps no event out."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    with suppress(ValueError):
        datetime.fromisoformat(text)
        return text if text.isascii() and text.isprintable() else None
    return None


def _fits(name, value):
    if value is None:
        return name in OPTIONAL
    return isinstance(value, int if name in NUMBERS else str)
