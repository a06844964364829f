"""Notes of the records that the store must have of each session.

They are stored when a source is read, in another file than the records.

The doctor compares the rows of an agent's file with these notes; without them, a lost session could not be told from
one that never was. A note is lowered only when sessions are removed on purpose.
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
    """Records of a session: how many of each kind, and the checksum of their ids.

    The checksum is empty when it is not known.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    checksum: str = EMPTY

    @property
    def count(self) -> int:
        return self.kinds.total()

    def plus(self, other: "Holding") -> "Holding":
        """Return the records of both; no record may be in both."""
        return Holding(self.kinds + other.kinds, add_checksums(self.checksum, other.checksum))

    def minus(self, other: "Holding") -> "Holding":
        """Return the records without those of `other`, which must be a part of them."""
        return Holding(self.kinds - other.kinds, add_checksums(self.checksum, other.checksum, sign=-1))

    def has_same_ids(self, other: "Holding") -> bool:
        """Return whether both have the same ids; unknown checksums count as the same."""
        return not (self.checksum and other.checksum) or self.checksum == other.checksum

    def is_same_records(self, other: "Holding") -> bool:
        """Return whether both are known to have the same records, of any kind."""
        return self.count == other.count and self.checksum == other.checksum != ""

    def lacks(self, expected: "Holding") -> bool:
        """Return whether records of `expected` are missing: fewer of a kind, or other ids."""
        return bool(expected.kinds - self.kinds) or (self.count == expected.count and not self.has_same_ids(expected))


Note = tuple[str, Holding | None, Holding | None]  # of a session: all its records, and those that were just added


def compute_checksum(ids: Iterable[str]) -> str:
    """Return the checksum of record ids in any order: a sum of hashes modulo 2^64.

    A record without an id of its own is named after its place (`@<offset>`), which may change: it is not included.
    """
    own = (record_id for record_id in ids if not record_id.startswith("@"))
    total = sum(int.from_bytes(hashlib.blake2b(record_id.encode(), digest_size=8).digest(), "big") for record_id in own)
    return f"{total % 2**64:0{WIDTH}x}"


def add_checksums(first: str, second: str, *, sign: int = 1) -> str:
    """Return the checksum of both sets of ids; empty when one of them is not known."""
    if not (first and second):
        return ""
    return f"{(int(first, 16) + sign * int(second, 16)) % 2**64:0{WIDTH}x}"


def note_holding(
    agent_id: str, session_id: str, holding: Holding | None, *, added: Holding | None = None, anew: bool = False
) -> None:
    """Note the records that the store has of a session.

    Call it where the position in the source is saved.

    When records that were noted before are missing, they stay noted, and only those `added` just now are counted; not
    so when the session was removed since, or with `anew`, which says that the session is complete. With None (nothing
    was stored) no note is stored.
    """
    note_holdings(agent_id, [(session_id, holding, added)], anew=anew)


def note_holdings(agent_id: str, notes: Iterable[Note], *, anew: bool = False) -> None:
    """Note the records of many sessions, as `note_holding` does, in two statements."""
    current = [(session_id, holding, added) for session_id, holding, added in notes if holding is not None]
    with transaction.atomic():
        rows = _get_rows(agent_id, [session_id for session_id, *_ in current])
        changed, records = {}, 0
        for session_id, holding, added in current:
            before = rows[session_id].record_count if not rows[session_id].removed_why else 0
            if _update_row(rows[session_id], holding, added, anew=anew):
                changed[session_id] = rows[session_id]
                records += rows[session_id].record_count - before
        if records:
            _add_record_count(agent_id, records)
        _save_rows(changed.values())


def _update_row(row, holding, added, *, anew):
    """Update a row to the records of its session, and return whether it changes."""
    noted = Holding() if row.removed_why else _build_holding(row)
    if not anew and holding.minus(added or Holding()).lacks(noted):
        if not added or not added.count:
            return False
        holding = noted.plus(added)
    if not holding.checksum and holding.kinds == noted.kinds:
        holding = Holding(holding.kinds, noted.checksum)
    kinds = orjson.dumps(
        holding.kinds, option=orjson.OPT_SORT_KEYS
    ).decode()  # done for every session of an import, so it must be fast
    columns = (kinds, holding.checksum, "")
    if not row._state.adding and (row.kind_counts, row.id_checksum, row.removed_why) == columns:
        return False
    row.kind_counts, row.id_checksum, row.removed_why = columns
    row.record_count = holding.count
    return True


def note_removed(agent_id: str, session_ids: Iterable[str], why: str) -> None:
    """Note that sessions were removed on purpose, and why (a `RemovalReason`).

    They are then not reported as lost.
    """
    for session_id in session_ids:
        with transaction.atomic():
            row = _get_row(agent_id, session_id)
            if row.removed_why != why:
                _add_record_count(agent_id, 0 if row.removed_why else -row.record_count)
                row.removed_why = why
                _save_rows([row])


def _get_row(agent_id, session_id):
    return _get_rows(agent_id, [session_id])[session_id]


def _get_rows(agent_id, session_ids):
    known = CollectedSession.objects.filter(agent_id=agent_id, session_id__in=session_ids)
    new = {
        session_id: CollectedSession(agent_id=agent_id, session_id=session_id, id_checksum=EMPTY)
        for session_id in session_ids
    }
    return new | {row.session_id: row for row in known}


def _build_holding(row):
    return Holding(Counter(row.kinds), row.id_checksum)


def _save_rows(rows):
    now = clock.now_ms()
    for row in rows:
        row.noted_at = now
    CollectedSession.objects.bulk_create(rows, update_conflicts=True, unique_fields=PLACE, update_fields=NOTED)


def _add_record_count(agent_id, count):
    AgentDatabase.objects.filter(agent_id=agent_id).update(record_count=F("record_count") + count)


def read_holdings(agent_id: str) -> dict[str, Holding]:
    """Return by session the records that the store must have.

    Without sessions that were removed.
    """
    rows = CollectedSession.objects.filter(agent_id=agent_id, removed_why="").order_by()
    return {row.session_id: _build_holding(row) for row in rows.iterator(BATCH)}


def read_noted_times(agent_id: str, session_ids: Iterable[str]) -> dict[str, int]:
    """Return by session when it was last imported (milliseconds).

    Without sessions that are not noted, or that were removed.
    """
    rows = CollectedSession.objects.filter(agent_id=agent_id, removed_why="", session_id__in=list(session_ids))
    return dict(rows.order_by().values_list("session_id", "noted_at"))


def find_noted_sessions(agent_id: str) -> set[str]:
    """Return the sessions that the store must have."""
    rows = CollectedSession.objects.filter(agent_id=agent_id, removed_why="").order_by()
    return set(rows.values_list("session_id", flat=True))


def read_removed(agent_id: str) -> dict[str, str]:
    """Return by session why it was removed."""
    rows = CollectedSession.objects.filter(agent_id=agent_id).exclude(removed_why="").order_by()
    return dict(rows.values_list("session_id", "removed_why"))


def read_holding(agent_id: str, session_id: str) -> Holding:
    """Return the records that the store must have of one session.

    Empty when none are noted, or when it was removed.
    """
    row = _get_row(agent_id, session_id)
    return Holding() if row.removed_why or row._state.adding else _build_holding(row)
