"""What the store has to hold of each session: noted when a source was read, in another file than the records.

The notes are what the doctor compares the rows of an agent's file with; without them nobody could tell a session that
was lost from one that never was. A note is lowered only when sessions go on purpose.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson
from django.db import transaction
from django.db.models import F

from openclaw_web import clock

from .models import AgentDatabase, CollectedSession

RemovalReason = CollectedSession.Why
BATCH = 500
WIDTH = 16  # hexadecimal digits of a checksum
EMPTY = "0" * WIDTH
PLACE = ("agent_id", "session_id")
NOTED = ("kind_counts", "record_count", "id_checksum", "removed_why", "noted_at")


@dataclass(slots=True)
class Holding:
    """Records of one session: how many of each kind, and the checksum of their ids (empty: not known)."""

    kinds: Counter[str] = field(default_factory=Counter)
    checksum: str = EMPTY

    @property
    def count(self) -> int:
        return self.kinds.total()

    def plus(self, other: "Holding") -> "Holding":
        """Both together; no record may be in both."""
        return Holding(self.kinds + other.kinds, add_checksums(self.checksum, other.checksum))

    def minus(self, other: "Holding") -> "Holding":
        """What is left without `other`, which is a part of it."""
        return Holding(self.kinds - other.kinds, add_checksums(self.checksum, other.checksum, sign=-1))

    def has_same_ids(self, other: "Holding") -> bool:
        """Whether both have the same ids, as far as checksums are known: unknown ones say nothing."""
        return not (self.checksum and other.checksum) or self.checksum == other.checksum

    def is_same_records(self, other: "Holding") -> bool:
        """Whether both are known to have the same records, whatever these are called."""
        return self.count == other.count and self.checksum == other.checksum != ""

    def lacks(self, wanted: "Holding") -> bool:
        """Whether records of `wanted` are missing here: fewer of a kind, or as many as wanted and others."""
        return bool(wanted.kinds - self.kinds) or (self.count == wanted.count and not self.has_same_ids(wanted))


Note = tuple[str, Holding | None, Holding | None]  # of a session: what it holds, and what of that was just added


def compute_checksum(ids: Iterable[str]) -> str:
    """The checksum of record ids in any order: the sum of a hash of each, modulo 2^64.

    A record without an id of its own is named after its place (`@<offset>`), which may change: it does not count.
    """
    own = (one for one in ids if not one.startswith("@"))
    total = sum(int.from_bytes(hashlib.blake2b(one.encode(), digest_size=8).digest(), "big") for one in own)
    return f"{total % 2**64:0{WIDTH}x}"


def add_checksums(first: str, second: str, *, sign: int = 1) -> str:
    """The checksum of both sets of ids together; not known when one of them is not."""
    if not (first and second):
        return ""
    return f"{(int(first, 16) + sign * int(second, 16)) % 2**64:0{WIDTH}x}"


def note_holding(
    agent_id: str, session_id: str, held: Holding | None, *, added: Holding | None = None, anew: bool = False
) -> None:
    """Note what the store holds of a session now; call it where the source's place is saved.

    What is missing of the records noted before stays noted: then only those `added` just now count in. Unless the
    session was removed since, or `anew` says that it holds what it has to. `None` (nothing was stored) notes nothing.
    """
    note_holdings(agent_id, [(session_id, held, added)], anew=anew)


def note_holdings(agent_id: str, notes: Iterable[Note], *, anew: bool = False) -> None:
    """Note what the store holds of many sessions, as for `note`, in two statements."""
    held_now = [(session_id, held, added) for session_id, held, added in notes if held is not None]
    with transaction.atomic():
        rows = _rows(agent_id, [session_id for session_id, *_ in held_now])
        changed, records = {}, 0
        for session_id, held, added in held_now:
            before = rows[session_id].record_count if not rows[session_id].removed_why else 0
            if _apply(rows[session_id], held, added, anew=anew):
                changed[session_id] = rows[session_id]
                records += rows[session_id].record_count - before
        if records:
            _add(agent_id, records)
        _save(changed.values())


def _apply(row, held, added, *, anew):
    """Bring a row up to what its session holds; whether that changes it."""
    noted = Holding() if row.removed_why else _holding(row)
    if not anew and held.minus(added or Holding()).lacks(noted):
        if not added or not added.count:
            return False
        held = noted.plus(added)
    if not held.checksum and held.kinds == noted.kinds:
        held = Holding(held.kinds, noted.checksum)
    kinds = orjson.dumps(held.kinds, option=orjson.OPT_SORT_KEYS).decode()  # of every session of an import
    columns = (kinds, held.checksum, "")
    if not row._state.adding and (row.kind_counts, row.id_checksum, row.removed_why) == columns:
        return False
    row.kind_counts, row.id_checksum, row.removed_why = columns
    row.record_count = held.count
    return True


def note_removed(agent_id: str, session_ids: Iterable[str], why: str) -> None:
    """Note that sessions were taken out on purpose, and why (a value of `Why`): their absence is no loss."""
    for session_id in session_ids:
        with transaction.atomic():
            row = _row(agent_id, session_id)
            if row.removed_why != why:
                _add(agent_id, 0 if row.removed_why else -row.record_count)
                row.removed_why = why
                _save([row])


def _row(agent_id, session_id):
    return _rows(agent_id, [session_id])[session_id]


def _rows(agent_id, session_ids):
    known = CollectedSession.objects.filter(agent_id=agent_id, session_id__in=session_ids)
    new = {one: CollectedSession(agent_id=agent_id, session_id=one, id_checksum=EMPTY) for one in session_ids}
    return new | {row.session_id: row for row in known}


def _holding(row):
    return Holding(Counter(row.kinds), row.id_checksum)


def _save(rows):
    now = clock.now_ms()
    for row in rows:
        row.noted_at = now
    CollectedSession.objects.bulk_create(rows, update_conflicts=True, unique_fields=PLACE, update_fields=NOTED)


def _add(agent_id, count):
    AgentDatabase.objects.filter(agent_id=agent_id).update(record_count=F("record_count") + count)


def read_holdings(agent_id: str) -> dict[str, Holding]:
    """Session -> what the store has to hold of it; without sessions that were taken out."""
    rows = CollectedSession.objects.filter(agent_id=agent_id, removed_why="").order_by()
    return {row.session_id: _holding(row) for row in rows.iterator(BATCH)}


def read_noted_times(agent_id: str, session_ids: Iterable[str]) -> dict[str, int]:
    """When each of these sessions was imported last, of those that are noted and were not taken out."""
    rows = CollectedSession.objects.filter(agent_id=agent_id, removed_why="", session_id__in=list(session_ids))
    return dict(rows.order_by().values_list("session_id", "noted_at"))


def find_noted_sessions(agent_id: str) -> set[str]:
    """The sessions that the store has to hold, without what of them."""
    rows = CollectedSession.objects.filter(agent_id=agent_id, removed_why="").order_by()
    return set(rows.values_list("session_id", flat=True))


def read_removed(agent_id: str) -> dict[str, str]:
    """Session -> why it was taken out."""
    rows = CollectedSession.objects.filter(agent_id=agent_id).exclude(removed_why="").order_by()
    return dict(rows.values_list("session_id", "removed_why"))


def read_holding(agent_id: str, session_id: str) -> Holding:
    """What the store has to hold of one session: nothing when nobody noted it, or it was taken out."""
    row = _row(agent_id, session_id)
    return Holding() if row.removed_why or row._state.adding else _holding(row)
