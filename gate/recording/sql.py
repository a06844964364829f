"""Decisions, windows and receipts as rows, and what is there already: written out, since plugins wait for it."""

from collections.abc import Iterable, Sequence

from django.db import models

from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite import rows as sqlite_rows
from openclaw_web.sqlite.json_columns import encode

from ..models import GateReceipt, GateWindow, MemoryGateDecision

RECEIPTS = f"SELECT id, decision_id, body_sha256 FROM gate_receipts WHERE id IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608
DECISIONS = f"SELECT id FROM memory_gate_decisions WHERE id IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608
WINDOWS = f"SELECT hash FROM gate_windows WHERE hash IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608
# Stretches of time first: each is sought in the index.
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
SQL[GateWindow] = SQL[GateWindow].replace("INSERT", dialect.INSERT_OR_LEAVE, 1)  # equal ones are one


def read_receipts(db: str, ids: Iterable[str]) -> dict[str, GateReceipt]:
    """The receipts of these ids, by id."""
    found = statements.read_rows(db, RECEIPTS, [encode(list(ids))])
    return {row[0]: GateReceipt(*row) for row in found}


def find_stored_ids(db: str, ids: Iterable[str]) -> set[str]:
    """Those of these ids that decisions have."""
    return {name for (name,) in statements.read_rows(db, DECISIONS, [encode(list(ids))])}


def find_known_ids(db: str, ids: Sequence[str]) -> set[str]:
    """Those of these ids under which a decision was told, or that a decision has."""
    return find_stored_ids(db, ids) | read_receipts(db, ids).keys()


def find_stored_windows(db: str, hashes: Iterable[str]) -> set[str]:
    """Those of these windows that are stored."""
    return {name for (name,) in statements.read_rows(db, WINDOWS, [encode(list(hashes))])}


def find_nearby_ids(db: str, spans: Iterable[Sequence[int]], reasons: Iterable[str], source: int) -> list[str]:
    """Ids of decisions of some stretches of time that this source has not told of, and that have one of the reasons."""
    listed = encode([{"start": start, "end": end} for start, end in spans])
    return [name for (name,) in statements.read_rows(db, NEAR, [listed, int(source), encode(list(reasons))])]


def insert_rows(db: str, new: Sequence[models.Model]) -> None:
    """Insert rows of one model, in the caller's transaction."""
    if new:
        names = FIELDS[type(new[0])]
        statements.run_many(db, SQL[type(new[0])], ([getattr(row, name) for name in names] for row in new))
