"""SQL that inserts decisions, windows and receipts, and finds those that are stored.

Written out as SQL because plugins wait for it.
"""

from collections.abc import Iterable, Sequence

from django.db import models

from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite import rows as sqlite_rows
from openclaw_web.sqlite.json_columns import encode

from ..models import GateReceipt, GateWindow, MemoryGateDecision

RECEIPTS = f"""SELECT id, decision_id, body_sha256 FROM gate_receipts
    WHERE id IN (SELECT value FROM {dialect.json_array("listed")})"""  # noqa: S608
DECISIONS = f"SELECT id FROM memory_gate_decisions WHERE id IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608
WINDOWS = f"SELECT hash FROM gate_windows WHERE hash IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608
# Spans of time come first, so that each is a search in the index.
NEAR = f"""
    SELECT d.id FROM (
        SELECT {dialect.json_text("listed.value", "start")} AS first, {dialect.json_text("listed.value", "end")} AS last
        FROM {dialect.json_array("listed")}) AS spans
    CROSS JOIN memory_gate_decisions d ON d.created_at BETWEEN spans.first AND spans.last
    WHERE d.sources & %s = 0 AND d.reason IN (SELECT value FROM {dialect.json_array("reasons")}) LIMIT 2000
"""  # noqa: S608 - ten times as many as are stored at once
FIELDS = {
    model: [field.attname for field in model._meta.concrete_fields if field.column]
    for model in (MemoryGateDecision, GateReceipt, GateWindow)
}
SQL = {model: sqlite_rows.insert_sql(model._meta.db_table, names) for model, names in FIELDS.items()}
SQL[GateWindow] = SQL[GateWindow].replace("INSERT", dialect.INSERT_OR_LEAVE, 1)  # equal windows are one row


def read_receipts(db: str, ids: Iterable[str]) -> dict[str, GateReceipt]:
    """Return the receipts of these ids, by id."""
    rows = statements.read_rows(db, RECEIPTS, [encode(list(ids))])
    return {row[0]: GateReceipt(*row) for row in rows}


def find_stored_ids(db: str, ids: Iterable[str]) -> set[str]:
    """Return those of these ids that decisions have."""
    return {name for (name,) in statements.read_rows(db, DECISIONS, [encode(list(ids))])}


def find_known_ids(db: str, ids: Sequence[str]) -> set[str]:
    """Return those of these ids that a decision or a receipt has."""
    return find_stored_ids(db, ids) | read_receipts(db, ids).keys()


def find_nearby_ids(db: str, spans: Iterable[Sequence[int]], reasons: Iterable[str], source: int) -> list[str]:
    """Return ids of decisions within some spans of time that this source did not report.

    Only decisions with one of the reasons. `spans` are pairs of milliseconds, both included; at most 2,000 ids.
    """
    listed = encode([{"start": start, "end": end} for start, end in spans])
    return [name for (name,) in statements.read_rows(db, NEAR, [listed, int(source), encode(list(reasons))])]


def insert_rows(db: str, new: Sequence[models.Model]) -> None:
    """Insert rows of one model, in the caller's transaction."""
    if new:
        names = FIELDS[type(new[0])]
        statements.run_many(db, SQL[type(new[0])], ([getattr(row, name) for name in names] for row in new))
