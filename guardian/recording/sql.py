"""SQL that finds a write's neighbouring snapshots and duplicates, and inserts rows.

It is raw SQL for speed: plugins wait for this transaction.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db import connections, models

from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite import rows as sqlite_rows
from openclaw_web.sqlite.json_columns import encode

from ..models import FileSnapshot, GuardianReceipt, GuardianStatus, WriteGuardianAudit
from ..models.shared_columns import get_column_value

FIELDS = {
    model: [field for field in model._meta.concrete_fields if field.column and not isinstance(field, models.AutoField)]
    for model in (FileSnapshot, GuardianReceipt, GuardianStatus, WriteGuardianAudit)
}
SQL = {
    model: sqlite_rows.insert_sql(model._meta.db_table, [field.attname for field in fields])
    for model, fields in FIELDS.items()
}
SQL[FileSnapshot] = SQL[FileSnapshot].replace("INSERT", dialect.INSERT_OR_LEAVE, 1)  # the id identifies the content
SQL[GuardianReceipt] = SQL[GuardianReceipt].replace("INSERT", dialect.INSERT_OR_REPLACE, 1)  # the last report counts
DELETE = ("DELETE FROM guardian_statuses WHERE audit_id = %s", "DELETE FROM write_guardian_audit WHERE id = %s")
# Leaves out contents that somebody wrote into a file after a rollback had displaced it: the file never held them.
HELD = f"""id NOT IN (SELECT late.value FROM rollback_intents i, {dialect.json_column_items("i.meanwhile_json", "late")}
    WHERE NOT (i.meanwhile_json = '[]'))"""  # noqa: S608
VERSION = f"SELECT id, created_at, content_hash FROM file_snapshots WHERE file_name = %s AND {HELD}"  # noqa: S608
LAST = f"{VERSION} AND created_at <= %s ORDER BY created_at DESC, id DESC LIMIT 1"
BEFORE = f"{VERSION} AND (created_at, id) < (%s, %s) ORDER BY created_at DESC, id DESC LIMIT 1"
ALIKE = f"{VERSION} AND created_at BETWEEN %s AND %s AND content_hash = %s ORDER BY created_at, id"
NEWER = f"SELECT 1 FROM file_snapshots WHERE file_name = %s AND {HELD} AND created_at > %s LIMIT 1"  # noqa: S608
FROM = f"""{VERSION} AND created_at >= coalesce((SELECT created_at FROM file_snapshots
    WHERE file_name = %s AND {HELD} AND created_at < %s ORDER BY created_at DESC LIMIT 1 OFFSET %s), 0)
    ORDER BY created_at, id"""  # noqa: S608
UNTIL = f"{VERSION} AND created_at <= %s ORDER BY created_at DESC, id DESC LIMIT %s"
AFTER = f"{VERSION} AND created_at > %s ORDER BY created_at, id LIMIT %s"
RECEIPTS = f"""SELECT id, audit_id, body_sha256 FROM guardian_receipts
    WHERE id IN (SELECT value FROM {dialect.json_array("listed")})"""  # noqa: S608
SOURCES = f"SELECT id, sources FROM write_guardian_audit WHERE id IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608
TWINS = """SELECT id FROM write_guardian_audit WHERE created_at BETWEEN %s AND %s AND coalesce(target_file, '') = %s
    AND candidate_fact = %s AND origin IN ('recorded', 'imported') AND sources & %s = 0
    ORDER BY abs(created_at - %s), id LIMIT 200"""  # more than one request stores
WRITE = """SELECT w.id, w.created_at, w.before_snapshot_id, w.after_snapshot_id, w.sources, w.is_diff_shared, w.origin
    FROM"""
CHANGED = f"{dialect.unindexed('w.status')} IN ('written', 'rolled_back')"
# Writes that led to one of some snapshots, that removed one, or whose snapshots follow from their time.
WRITES = f"""
    {WRITE} {dialect.json_array("kept")} CROSS JOIN write_guardian_audit w ON w.after_snapshot_id = kept.value
        WHERE {CHANGED}
    UNION {WRITE} {dialect.json_array("kept")} CROSS JOIN write_guardian_audit w ON w.before_snapshot_id = kept.value
        WHERE {dialect.unindexed("w.after_snapshot_id")} IS NULL AND {CHANGED}
    UNION {WRITE} write_guardian_audit w WHERE w.target_file = %s AND w.created_at >= %s AND {CHANGED}
        AND {dialect.unindexed("w.origin")} <> 'unattributed' AND (w.sources & 8 <> 0
        OR {dialect.unindexed("w.before_snapshot_id")} IS NULL AND {dialect.unindexed("w.after_snapshot_id")} IS NULL)
"""  # 8: Source.FILES
INTENTS = f"""SELECT after_snapshot_id, state FROM rollback_intents
    WHERE after_snapshot_id IN (SELECT value FROM {dialect.json_array("listed")}) AND state <> 'done'"""  # noqa: S608

# Everything that refers to a write: what people did about it, and its other ids.
HANGING = """SELECT EXISTS (SELECT 1 FROM rollbacks WHERE audit_id = %s OR own_audit_id = %s)
    OR EXISTS (SELECT 1 FROM behavior_corrections WHERE audit_id = %s)
    OR EXISTS (SELECT 1 FROM write_guardian_audit WHERE retry_of = %s)
    OR EXISTS (SELECT 1 FROM guardian_receipts WHERE audit_id = %s AND id <> audit_id)
    OR EXISTS (SELECT 1 FROM guardian_receipts WHERE id = %s)
    OR (SELECT count(*) FROM guardian_statuses WHERE audit_id = %s) > 1"""


class Snapshot(NamedTuple):
    """One snapshot without its content."""

    id: str
    created_at: int
    content_hash: str


def find_last_snapshot(db: str, name: str, at: int) -> Snapshot | None:
    """Return the snapshot that a file had at a moment."""
    return _to_snapshot(statements.read_row(db, LAST, [name, at]))


def find_previous_snapshot(db: str, name: str, version: Snapshot) -> Snapshot | None:
    return _to_snapshot(statements.read_row(db, BEFORE, [name, version.created_at, version.id]))


def find_equal_snapshots(db: str, name: str, content_hash: str, *, since: int, until: int) -> list[Snapshot]:
    """Return the snapshots of a time span with this content, oldest first."""
    return [Snapshot(*row) for row in statements.read_rows(db, ALIKE, [name, since, until, content_hash])]


def has_newer_snapshot(db: str, name: str, than: int) -> bool:
    return statements.read_row(db, NEWER, [name, than]) is not None


def read_snapshots(db: str, name: str, since: int, *, context: int = 0) -> list[Snapshot]:
    """Return the snapshots of a file from the last one before `since` on, oldest first.

    With `context` more before it.
    """
    return [Snapshot(*row) for row in statements.read_rows(db, FROM, [name, name, since, context])]


def read_snapshots_around(db: str, name: str, at: int, *, count: int) -> list[Snapshot]:
    """Return `count` snapshots up to a moment and as many after it, oldest first."""
    earlier, later = (statements.read_rows(db, sql, [name, at, count]) for sql in (UNTIL, AFTER))
    return [Snapshot(*row) for row in (*reversed(list(earlier)), *later)]


def read_receipts(db: str, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the write and the hash of the body by reported id, for known ids."""
    rows = statements.read_rows(db, RECEIPTS, [encode(list(ids))])
    return {reported_id: (audit_id, body_sha256) for reported_id, audit_id, body_sha256 in rows}


def read_sources(db: str, ids: Iterable[str]) -> dict[str, int]:
    """Return the sources of these writes by id, where they are stored."""
    return dict(statements.read_rows(db, SOURCES, [encode(list(ids))]))


def find_nearby_ids(db: str, *, since: int, until: int, name: str | None, fact: str, source: int) -> list[str]:
    """Return ids of writes with this fact and file that a source has not reported.

    Their times are between `since` and `until`, nearest to the middle first.
    """
    return [
        row[0]
        for row in statements.read_rows(db, TWINS, [since, until, name or "", fact, int(source), (since + until) // 2])
    ]


def read_writes(db: str, name: str, version_ids: Iterable[str], since: int) -> list[tuple]:
    """Return writes that led to one of these snapshots, removed one, or have no exact place.

    Writes without an exact place are those since a moment.
    """
    ids_json = encode(list(version_ids))
    return sorted(statements.read_rows(db, WRITES, [ids_json, ids_json, name, since]), key=lambda row: (row[1], row[0]))


def is_acted_on(db: str, audit_id: str) -> bool:
    """Return whether anything refers to a write: an act of a person, a status, another id."""
    row = statements.read_row(db, HANGING, [audit_id] * 7)
    return bool(row and row[0])


def _to_snapshot(row):
    return Snapshot(*row) if row else None


def delete_write(db: str, audit_id: str) -> None:
    """Remove a write that nothing refers to, with its status."""
    for sql in DELETE:
        statements.run(db, sql, [audit_id])


def insert_rows(db: str, new_rows: Sequence[models.Model]) -> None:
    """Insert rows of one model, in the caller's transaction."""
    if not new_rows:
        return
    fields, connection = FIELDS[type(new_rows[0])], connections[db]
    rows = [[get_column_value(row, field, connection) for field in fields] for row in new_rows]
    statements.run_many(db, SQL[type(new_rows[0])], rows)
    for row in new_rows:
        row._state.db, row._state.adding = db, False
