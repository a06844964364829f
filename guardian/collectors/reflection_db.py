"""Reads writes from a `reflection.db` of the shape in Reflection's requirements.

Any column but those of a write itself may be missing, and so may the tables of rollbacks and corrections. Contents of
files are read on request: they may not fit into memory.
"""

import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gate.collectors.source_decisions import Rejection
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import Tables
from ledger.collectors.database_values import Unusable, read_count, read_moment, read_text
from ledger.collectors.records import MAX_NAME
from openclaw_web.batches import in_batches

from ..files import LONGEST_FACT, MEMORY_FILES
from .source_writes import STATUSES, SourceCorrection, SourceRollback, SourceWrite

AUDIT, SNAPSHOT, ROLLBACK, CORRECTION = (
    "write_guardian_audit",
    "file_snapshots",
    "rollbacks",
    "behavior_corrections",
)
# What a source reports of a write.
TEXTS = ("decision_id", "turn_id", "session_id", "candidate_fact", "reason", "llm_model")
COUNTS = ("llm_latency_ms", "agent_steps")
TABLES: Tables = {
    AUDIT: (
        *("id", "target_file", "before_snapshot_id", "after_snapshot_id", "status", "created_at"),
        *TEXTS,
        *COUNTS,
    ),
    SNAPSHOT: ("id", "file_name", "content", "content_hash", "created_at"),
    ROLLBACK: ("id", "audit_id", "rolled_back_at", "rolled_back_by", "reason"),
    CORRECTION: (
        *("id", "audit_id", "original_status", "original_candidate_fact", "original_target_file", "corrected_status"),
        *("corrected_candidate_fact", "corrected_target_file", "correction_reason", "apply_to_future"),
        *("correction_pattern", "corrected_by", "corrected_at"),
    ),
}
NEEDED = ("id", "target_file", "status", "created_at")
CHANGED = ("written", "rolled_back")
MAX_KEY = 4 * MAX_NAME  # bytes of an id that is compared: a longer one is refused
AT_ONCE = 100  # writes whose rollbacks and corrections are read together: these tables may have no index
MOST_CORRECTIONS = 20  # of one write, the newest
HELD = 16 * 1024 * 1024  # bytes of snapshots in the cache: writes name the same ones again
Row = dict[str, Any]


@dataclass(slots=True)
class _RelatedRows:
    """The newest related rows of one write in a table, and how many there are."""

    rows: deque[Row]
    count: int = 0

    @property
    def left_out(self) -> int:
        return self.count - len(self.rows)


@dataclass(frozen=True, slots=True)
class DatabaseSnapshot:
    """The content of a file, with its hash."""

    file_name: bytes | None
    data: bytes
    sha256: str


@dataclass(slots=True)
class SnapshotReader:
    """The file snapshots of a database by id, with a cache of the last ones.

    The cache has as many as fit into HELD bytes.
    """

    database: Database
    _cached: OrderedDict[str, DatabaseSnapshot] = field(default_factory=OrderedDict)
    _size: int = 0
    _places: dict[bytes, int] | None = None  # None: the table has no row numbers, so rows are found by id

    def locate_snapshots(self, ids: Iterable[str]) -> None:
        """Find the rows of these snapshots in one pass: the table may have no index."""
        sorted_ids = sorted(set(ids))
        sql = f"SELECT rowid, id FROM {SNAPSHOT} WHERE id IN ({', '.join('?' * len(sorted_ids))})"  # noqa: S608
        try:
            is_there = self.database.has(SNAPSHOT, "id")
            rows = self.database.ask(sql, tuple(sorted_ids)) if is_there else ()
            self._places = {id_: place for place, id_ in rows if isinstance(id_, bytes)}
        except DamagedDatabase:
            self._places = None

    def read_snapshot(self, name: str, snapshot_id: str | None) -> DatabaseSnapshot | None:
        """Return the content of a file, checked against its hash; None: there was no file.

        Raises DamagedDatabase for a missing or damaged snapshot.
        """
        if snapshot_id is None:
            return None
        snapshot = self._cached.get(snapshot_id) or self._read(name, snapshot_id)
        self._cache(snapshot_id, snapshot)
        if snapshot.file_name not in (None, name.encode()):
            raise DamagedDatabase(f"there is no version {snapshot_id[:MAX_NAME]} of {name}")
        return snapshot

    def _read(self, name, snapshot_id):
        row = next(self._rows(snapshot_id), None)
        if row is None:
            raise DamagedDatabase(f"there is no version {snapshot_id[:MAX_NAME]} of {name}")
        data = row["content"]
        if not isinstance(data, bytes):
            raise DamagedDatabase(f"the version {snapshot_id[:MAX_NAME]} is no text")
        digest, stored_hash = hashlib.sha256(data).hexdigest(), row["content_hash"]
        if stored_hash is not None and stored_hash != digest.encode():
            raise DamagedDatabase(f"the version {snapshot_id[:MAX_NAME]} has another hash than its content")
        return DatabaseSnapshot(row["file_name"], data, digest)

    def _rows(self, snapshot_id):
        if self._places is None:
            return _rows(self.database, SNAPSHOT, "id = ?", (snapshot_id,))
        place = self._places.get(snapshot_id.encode())
        return iter(()) if place is None else _rows(self.database, SNAPSHOT, "rowid = ?", (place,))

    def _cache(self, snapshot_id, snapshot):
        if snapshot_id not in self._cached:
            self._size += len(snapshot.data)
        self._cached[snapshot_id] = snapshot
        self._cached.move_to_end(snapshot_id)
        while self._size > HELD and len(self._cached) > 2:
            self._size -= len(self._cached.popitem(last=False)[1].data)


def read(database: Database) -> Iterator[SourceWrite | Rejection]:
    """Yield the writes of a database, and the problems of those that cannot be read.

    Yields no write where the database has no table of them.
    """
    if AUDIT not in database.columns:
        return
    if not database.has(AUDIT, *NEEDED):
        yield Rejection("bad_write", f"{AUDIT} lacks one of the columns {', '.join(NEEDED)}")
        return
    try:
        for batch in in_batches(_rows(database, AUDIT, order="created_at"), AT_ONCE):
            rollbacks = _find_related(database, ROLLBACK, batch, "rolled_back_at", 1)
            corrections = _find_related(database, CORRECTION, batch, "corrected_at", MOST_CORRECTIONS)
            for row in batch:
                yield from _read_write(database, row, rollbacks, corrections)
    except DamagedDatabase as exc:
        yield Rejection("damaged_database", str(exc))


def _rows(
    database: Database, table: str, where: str = "", values: tuple[Any, ...] = (), order: str = ""
) -> Iterator[Row]:
    names = TABLES[table]
    for row in database.rows(table, *names, where=where, values=values, order=order):
        yield dict(zip(names, row, strict=True))


def _find_related(
    database: Database, table: str, writes: Sequence[Row], order: str, most: int
) -> dict[bytes, _RelatedRows]:
    """Return the newest related rows of each write in a table, by its id."""
    rows_by_write: dict[bytes, _RelatedRows] = {}
    ids = {key.decode(errors="replace") for row in writes if (key := _normalize_id(row["id"]))}
    values = (*sorted(ids), *(int(id_) for id_ in ids if id_.isascii() and id_.isdigit() and len(id_) < 19))
    if not values or not database.has(table, "audit_id"):
        return rows_by_write
    for row in _rows(database, table, f"audit_id IN ({', '.join('?' * len(values))})", values, order):
        related = rows_by_write.setdefault(_normalize_id(row["audit_id"]), _RelatedRows(deque(maxlen=most)))
        related.rows.append(row)
        related.count += 1
    return rows_by_write


def _try_make(row, make):
    try:
        return make(row)
    except Unusable as exc:
        return str(exc)


def _normalize_id(value):
    """Return an id in comparable form: other tables may store it as text or number."""
    return value[:MAX_KEY] if isinstance(value, bytes) else str("" if value is None else value).encode()


def _read_write(database, row, rollbacks, corrections):
    """Yield a write, and the problems of its rollback and corrections.

    These may be unusable without harm to the write itself.
    """
    try:
        columns = _read_columns(row) | {"snapshots": _read_snapshot_ids(database, row)}
    except Unusable as exc:
        yield Rejection("bad_write", str(exc))
        return
    related = [
        item
        for part, make in ((rollbacks, _read_rollback), (corrections, _read_correction))
        for item in _make_related(part, row, make)
    ]
    yield from (Rejection("bad_write", f"{columns['id']}: {item}") for item in related if isinstance(item, str))
    taken_back = [item for item in related if isinstance(item, SourceRollback)]
    corrected = tuple(item for item in related if isinstance(item, SourceCorrection))
    yield SourceWrite(**columns, rollback=taken_back[-1] if taken_back else None, corrections=corrected)


def _make_related(part, row, make):
    """Yield the rollback or corrections of a write.

    An unusable one, or too many, is a sentence.
    """
    related = part.get(_normalize_id(row["id"]))
    for related_row in related.rows if related else ():
        yield _try_make(related_row, make)
    if related and related.left_out and make is _read_correction:
        yield f"{related.left_out} older corrections were left out: the newest {MOST_CORRECTIONS} count"


def _read_snapshot_ids(database, row):
    """Return the ids of the snapshots on both sides of a write.

    None where the write changed no file, or the source does not name them.
    """
    if not database.has(AUDIT, "before_snapshot_id", "after_snapshot_id"):
        return None
    sides = _read_text(row, "before_snapshot_id"), _read_text(row, "after_snapshot_id")
    return sides if any(sides) and _read_text(row, "status") in CHANGED else None


def _read_columns(row):
    id_, status, target = (_read_text(row, name) for name in ("id", "status", "target_file"))
    if not id_ or len(id_) > MAX_NAME:
        raise Unusable("no usable id")
    if status not in STATUSES:
        raise Unusable(f"{id_}: unknown status {str(status)[:MAX_NAME]}")
    if target not in MEMORY_FILES:
        raise Unusable(f"{id_}: unknown file {str(target)[:MAX_NAME]}")
    reported = {name: _read_text(row, name) for name in TEXTS} | {name: read_count(row, name) for name in COUNTS}
    fact = reported["candidate_fact"]
    if fact is not None and len(fact) > LONGEST_FACT:
        raise Unusable(f"{id_}: a fact of more than {LONGEST_FACT} characters")
    if (at := read_moment(row, "created_at")) is None:
        raise Unusable(f"{id_}: no time")
    return {
        "id": id_,
        "at": at,
        "target_file": target,
        "status": status,
        "fact": fact or None,
        "session_key": reported["session_id"],
        "reported": reported | {"reason": _read_short_text(row, "reason") or None},
    }


def _read_rollback(row):
    id_, at = _read_text(row, "id"), read_moment(row, "rolled_back_at")
    if not id_ or len(id_) > MAX_NAME or at is None:
        raise Unusable("a rollback without a usable id or time")
    return SourceRollback(id_, at, _read_short_text(row, "rolled_back_by", MAX_NAME), _read_short_text(row, "reason"))


def _read_correction(row):
    id_, at = _read_text(row, "id"), read_moment(row, "corrected_at")
    names = ("status", "candidate_fact", "target_file")
    original = tuple(_read_text(row, f"original_{name}") for name in names)
    corrected = tuple(_read_text(row, f"corrected_{name}") for name in names)
    if not id_ or len(id_) > MAX_NAME or at is None:
        raise Unusable("a correction without a usable id or time")
    if original[0] not in STATUSES or corrected[0] not in STATUSES:
        raise Unusable("a correction of an unknown status")
    if any(target is not None and target not in MEMORY_FILES for target in (original[2], corrected[2])):
        raise Unusable("a correction of an unknown file")
    if any(fact is not None and len(fact) > LONGEST_FACT for fact in (original[1], corrected[1])):
        raise Unusable(f"a correction with a fact of more than {LONGEST_FACT} characters")
    pattern = _read_short_text(row, "correction_pattern") if row["apply_to_future"] not in (None, 0, b"false") else None
    by, reason = _read_short_text(row, "corrected_by", MAX_NAME), _read_short_text(row, "correction_reason")
    return SourceCorrection(id_, at, by, original, corrected, reason, pattern or None)


def _read_short_text(row, name, most=LONGEST_FACT):
    """Return a text about a write that pages show; empty where there is none."""
    text = _read_text(row, name) or ""
    if len(text) > most:
        raise Unusable(f"{name} has more than {most} characters")
    return text


def _read_text(row, name):
    text = read_text(row, name)
    if text and "\x00" in text:
        raise Unusable(f"{name} holds a NUL")
    return text
