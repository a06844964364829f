"""Scans the rows of tables beside transcripts, in the order of their arrival."""

from collections.abc import Iterator
from dataclasses import replace

from django.db.models import Exists, OuterRef, QuerySet

from openclaw_web.sqlite import write_queue

from . import finding_store
from .detection import Detection
from .finding_store import DELETED, Position, Step
from .models import Finding
from .tables import TABLES, Table

MOST_COUNTED = 1_000_000  # rows of a table: pages wait for the count
MOST_IN_STEP = 20_000  # findings of the rows that are read at once


def count_rows(db: str, rules: int) -> int:
    """Count the rows that were not scanned by these rules; at most MOST_COUNTED of each table."""
    return sum(rows[:MOST_COUNTED].count() for rows in _select_unscanned(db, rules))


def is_unscanned(db: str, rules: int) -> bool:
    """Whether a table has rows that were not scanned by these rules."""
    return any(rows.exists() for rows in _select_unscanned(db, rules))


def _select_unscanned(db, rules):
    positions = finding_store.read_table_positions(db, [table.source.value for table in TABLES])
    for table in TABLES:
        position = positions[table.source.value]
        yield table.select_rows(db).filter(place__gt=position.place if position.rules == rules else -1)


def scan_tables(db: str, detection: Detection) -> Iterator[Step]:
    """Scan what was not scanned, in parts; the caller stores each part."""
    for table in TABLES:
        yield from _scan_table(db, table, detection)


def _scan_table(db, table, detection):
    stored = finding_store.read_position(db, table.source.value)
    start, is_restart = stored, False
    if stored.rules != detection.version or not _is_same(db, table, stored):
        start, is_restart = Position(-1, "", detection.version), bool(stored.rules)
    while rows := table.read(db, start.place):
        after = replace(start, place=rows[-1]["place"], fingerprint=str(rows[-1][table.key]))
        step = Step(table.source.value, "", stored, after, is_restart=is_restart, texts=len(rows))
        documents = list(table.build(db, rows))
        step.size, step.cut = sum(item.size for item in documents), sum(bool(item.cut) for item in documents)
        for findings, omitted in detection.find(table.source, documents):
            step.add(findings, omitted, room=MOST_IN_STEP - len(step.rows))
        yield step
        stored = start = after
        is_restart = False


def _is_same(db, table, position):
    """Whether the row that was scanned last is where it was."""
    rows = table.select_rows(db).filter(place=position.place)
    return rows.filter(**{table.key: position.fingerprint}).exists()


def remove_deleted(agent_id: str, db: str) -> None:
    """Remove the findings in rows that are not stored any more."""
    for table in TABLES:
        lost = find_without_row(db, table)
        while ids := list(lost.order_by("id").values_list("id", flat=True)[:DELETED]):
            with write_queue.agent_transaction(db):
                finding_store.remove_rows(agent_id, db, Finding.objects.using(db).filter(id__in=ids))


def find_without_row(db: str, table: Table) -> QuerySet[Finding]:
    """Find findings of a table whose row is missing."""
    row = table.model._base_manager.using(db).filter(**{table.key: OuterRef("source_id")})
    return Finding.objects.using(db).filter(~Exists(row), source=table.source.value)
