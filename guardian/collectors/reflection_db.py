"""The writes of a `reflection.db` of the shape that Reflection's requirements give it.

Any column but those of a write itself may be missing, and so may the tables beside them. Contents of files are read
when they are asked for: there may be more of them than memory.
"""

import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from gate.collectors.source_decisions import Rejection
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import Tables
from ledger.collectors.records import MAX_NAME, parse_moment_ms

from ..files import LONGEST_FACT, MEMORY_FILES
from .source_writes import STATUSES, SourceCorrection, SourceRollback, SourceWrite

AUDIT, SNAPSHOT, ROLLBACK, CORRECTION = (
    "write_guardian_audit",
    "file_snapshots",
    "rollbacks",
    "behavior_corrections",
)
TABLES: Tables = {
    AUDIT: (
        *("id", "decision_id", "turn_id", "session_id", "target_file", "candidate_fact", "before_snapshot_id"),
        *("after_snapshot_id", "status", "reason", "llm_model", "llm_latency_ms", "agent_steps", "created_at"),
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
AT_ONCE = 100  # writes for which the tables beside them are asked: those may have no index
MOST_CORRECTIONS = 20  # of one write, the newest
HELD = 16 * 1024 * 1024  # bytes of versions that are kept, as writes name the same ones again
Row = dict[str, Any]


class _Unusable(Exception):
    """A value is not what its column is for."""


@dataclass(slots=True)
class _Beside:
    """The newest rows that a table has of one write, and how many others it has."""

    rows: deque[Row]
    count: int = 0

    @property
    def left_out(self) -> int:
        """How many older rows there are."""
        return self.count - len(self.rows)


@dataclass(frozen=True, slots=True)
class DatabaseSnapshot:
    """What a file held, and the hash of that."""

    file_name: bytes | None
    data: bytes
    sha256: str


@dataclass(slots=True)
class SnapshotReader:
    """The versions of a database by their ids. Those that were read last are kept, as many as fit into HELD bytes."""

    database: Database
    _kept: OrderedDict[str, DatabaseSnapshot] = field(default_factory=OrderedDict)
    _size: int = 0
    _places: dict[bytes, int] | None = None  # None: the table has no numbers of rows, and is asked by id

    def locate_snapshots(self, ids: Iterable[str]) -> None:
        """Find the rows of these versions in one pass: the table may have no index."""
        wanted = sorted(set(ids))
        sql = f"SELECT rowid, id FROM {SNAPSHOT} WHERE id IN ({', '.join('?' * len(wanted))})"  # noqa: S608
        try:
            is_there = self.database.has(SNAPSHOT, "id")
            rows = self.database.ask(sql, tuple(wanted)) if is_there else ()
            self._places = {id_: place for place, id_ in rows if isinstance(id_, bytes)}
        except DamagedDatabase:
            self._places = None

    def read_snapshot(self, name: str, snapshot_id: str | None) -> DatabaseSnapshot | None:
        """What a file held, compared with its hash; None: there was no file. Raises Damaged for what is not there."""
        if snapshot_id is None:
            return None
        version = self._kept.get(snapshot_id) or self._read(name, snapshot_id)
        self._keep(snapshot_id, version)
        if version.file_name not in (None, name.encode()):
            raise DamagedDatabase(f"there is no version {snapshot_id[:MAX_NAME]} of {name}")
        return version

    def _read(self, name, snapshot_id):
        row = next(self._rows(snapshot_id), None)
        if row is None:
            raise DamagedDatabase(f"there is no version {snapshot_id[:MAX_NAME]} of {name}")
        data = row["content"]
        if not isinstance(data, bytes):
            raise DamagedDatabase(f"the version {snapshot_id[:MAX_NAME]} is no text")
        digest, told = hashlib.sha256(data).hexdigest(), row["content_hash"]
        if told is not None and told != digest.encode():
            raise DamagedDatabase(f"the version {snapshot_id[:MAX_NAME]} has another hash than its content")
        return DatabaseSnapshot(row["file_name"], data, digest)

    def _rows(self, snapshot_id):
        if self._places is None:
            return _rows(self.database, SNAPSHOT, "id = ?", (snapshot_id,))
        place = self._places.get(snapshot_id.encode())
        return iter(()) if place is None else _rows(self.database, SNAPSHOT, "rowid = ?", (place,))

    def _keep(self, snapshot_id, version):
        if snapshot_id not in self._kept:
            self._size += len(version.data)
        self._kept[snapshot_id] = version
        self._kept.move_to_end(snapshot_id)
        while self._size > HELD and len(self._kept) > 2:
            self._size -= len(self._kept.popitem(last=False)[1].data)


def read(database: Database) -> Iterator[SourceWrite | Rejection]:
    """The writes of a database, and what is wrong with the others; nothing where it has no table of them."""
    if AUDIT not in database.columns:
        return
    if not database.has(AUDIT, *NEEDED):
        yield Rejection("bad_write", f"{AUDIT} lacks one of the columns {', '.join(NEEDED)}")
        return
    try:
        rows = _rows(database, AUDIT, order="created_at")
        while some := list(islice(rows, AT_ONCE)):
            rollbacks = _beside(database, ROLLBACK, some, "rolled_back_at", 1)
            corrections = _beside(database, CORRECTION, some, "corrected_at", MOST_CORRECTIONS)
            for row in some:
                yield from _write(database, row, rollbacks, corrections)
    except DamagedDatabase as exc:
        yield Rejection("damaged_database", str(exc))


def _rows(
    database: Database, table: str, where: str = "", values: tuple[Any, ...] = (), order: str = ""
) -> Iterator[Row]:
    names = TABLES[table]
    for row in database.rows(table, *names, where=where, values=values, order=order):
        yield dict(zip(names, row, strict=True))


def _beside(database: Database, table: str, writes: Sequence[Row], order: str, most: int) -> dict[bytes, _Beside]:
    """The newest rows that a table has of each of these writes, by the id of the write."""
    found: dict[bytes, _Beside] = {}
    ids = {key.decode(errors="replace") for row in writes if (key := _key(row["id"]))}
    values = (*sorted(ids), *(int(id_) for id_ in ids if id_.isascii() and id_.isdigit() and len(id_) < 19))
    if not values or not database.has(table, "audit_id"):
        return found
    for row in _rows(database, table, f"audit_id IN ({', '.join('?' * len(values))})", values, order):
        beside = found.setdefault(_key(row["audit_id"]), _Beside(deque(maxlen=most)))
        beside.rows.append(row)
        beside.count += 1
    return found


def _made(row, make):
    try:
        return make(row)
    except _Unusable as exc:
        return str(exc)


def _key(value):
    """An id as it is compared: tables of others may say it as a text or as a number."""
    return value[:MAX_KEY] if isinstance(value, bytes) else str("" if value is None else value).encode()


def _write(database, row, rollbacks, corrections):
    """A write, and problems: what is beside one may be unusable without harm to the write itself."""
    try:
        own = _own(row) | {"snapshots": _snapshots(database, row)}
    except _Unusable as exc:
        yield Rejection("bad_write", str(exc))
        return
    beside = [
        one for part, make in ((rollbacks, _rollback), (corrections, _correction)) for one in _of(part, row, make)
    ]
    yield from (Rejection("bad_write", f"{own['id']}: {one}") for one in beside if isinstance(one, str))
    taken_back = [one for one in beside if isinstance(one, SourceRollback)]
    corrected = tuple(one for one in beside if isinstance(one, SourceCorrection))
    yield SourceWrite(**own, rollback=taken_back[-1] if taken_back else None, corrections=corrected)


def _of(part, row, make):
    """What a table beside the writes says of one; what is unusable, or too much, as a sentence."""
    beside = part.get(_key(row["id"]))
    for one in beside.rows if beside else ():
        yield _made(one, make)
    if beside and beside.left_out and make is _correction:
        yield f"{beside.left_out} older corrections were left out: the newest {MOST_CORRECTIONS} count"


def _snapshots(database, row):
    """The names of both sides of the file; None where nothing was written, or they are not told."""
    if not database.has(AUDIT, "before_snapshot_id", "after_snapshot_id"):
        return None
    sides = _text(row, "before_snapshot_id"), _text(row, "after_snapshot_id")
    return sides if any(sides) and _text(row, "status") in CHANGED else None


def _own(row):
    """What the row of a write says."""
    id_, status, target = (_text(row, name) for name in ("id", "status", "target_file"))
    if not id_ or len(id_) > MAX_NAME:
        raise _Unusable("no usable id")
    if status not in STATUSES:
        raise _Unusable(f"{id_}: unknown status {str(status)[:MAX_NAME]}")
    if target not in MEMORY_FILES:
        raise _Unusable(f"{id_}: unknown file {str(target)[:MAX_NAME]}")
    fact = _text(row, "candidate_fact")
    if fact is not None and len(fact) > LONGEST_FACT:
        raise _Unusable(f"{id_}: a fact of more than {LONGEST_FACT} characters")
    if (at := _moment(row, "created_at")) is None:
        raise _Unusable(f"{id_}: no time")
    return {
        "id": id_,
        "at": at,
        "target_file": target,
        "status": status,
        "fact": fact or None,
        "reason": _said(row, "reason") or None,
        "decision_id": _text(row, "decision_id"),
        "turn_id": _text(row, "turn_id"),
        "session_key": _text(row, "session_id"),
        "model": _text(row, "llm_model"),
        "latency_ms": _count(row, "llm_latency_ms"),
        "agent_steps": _count(row, "agent_steps"),
    }


def _rollback(row):
    id_, at = _text(row, "id"), _moment(row, "rolled_back_at")
    if not id_ or len(id_) > MAX_NAME or at is None:
        raise _Unusable("a rollback without a usable id or time")
    return SourceRollback(id_, at, _said(row, "rolled_back_by", MAX_NAME), _said(row, "reason"))


def _correction(row):
    id_, at = _text(row, "id"), _moment(row, "corrected_at")
    names = ("status", "candidate_fact", "target_file")
    original = tuple(_text(row, f"original_{name}") for name in names)
    corrected = tuple(_text(row, f"corrected_{name}") for name in names)
    if not id_ or len(id_) > MAX_NAME or at is None:
        raise _Unusable("a correction without a usable id or time")
    if original[0] not in STATUSES or corrected[0] not in STATUSES:
        raise _Unusable("a correction of an unknown status")
    if any(target is not None and target not in MEMORY_FILES for target in (original[2], corrected[2])):
        raise _Unusable("a correction of an unknown file")
    if any(fact is not None and len(fact) > LONGEST_FACT for fact in (original[1], corrected[1])):
        raise _Unusable(f"a correction with a fact of more than {LONGEST_FACT} characters")
    pattern = _said(row, "correction_pattern") if row["apply_to_future"] not in (None, 0, b"false") else None
    by, reason = _said(row, "corrected_by", MAX_NAME), _said(row, "correction_reason")
    return SourceCorrection(id_, at, by, original, corrected, reason, pattern or None)


def _said(row, name, most=LONGEST_FACT):
    """A text beside a write that pages show; empty: nothing was said."""
    text = _text(row, name) or ""
    if len(text) > most:
        raise _Unusable(f"{name} has more than {most} characters")
    return text


def _text(row, name):
    value = row[name]
    if value is None:
        return None
    if not isinstance(value, bytes):
        raise _Unusable(f"{name} is no text")
    try:
        text = value.decode()
    except UnicodeDecodeError as exc:
        raise _Unusable(f"{name} is not UTF-8") from exc
    if "\x00" in text:
        raise _Unusable(f"{name} holds a NUL")
    return text


def _count(row, name):
    value = row[name]
    if value is None:
        return None
    if isinstance(value, bytes) or not 0 <= value < 2**53 or value != int(value):
        raise _Unusable(f"{name} is no count")
    return int(value)


def _moment(row, name):
    value = row[name]
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if value is not None and parse_moment_ms(value) is None:
        raise _Unusable(f"{name} is no time")
    return None if value is None else parse_moment_ms(value)
