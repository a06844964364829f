"""Chains of rollbacks: a rollback can be rolled back too.

They say whether a write is in the file in the end, and which writes a rollback concerns.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from ..models import Rollback, WriteGuardianAudit

LONGEST = 20  # rollbacks of rollbacks that are followed
ROLLBACK = WriteGuardianAudit.Origin.ROLLBACK


@dataclass(frozen=True, slots=True)
class Chain:
    """The rollback of a write, the rollback of that, and so on.

    In turn they take the write back and restore it.
    """

    steps: list[Rollback]

    @property
    def standing(self) -> str | None:
        """The last write that restored it; None: not restored, or taken back again."""
        is_restored = self.steps and len(self.steps) % 2 == 0
        return self.steps[-1].own_audit_id if is_restored else None


@dataclass(frozen=True, slots=True)
class RollbackSubject:
    """The subject of a rollback: how many writes, and whether it undid a rollback of them."""

    count: int
    is_undone: bool


def read_chains(db: str, audit_ids: Collection[str]) -> dict[str, Chain]:
    """Return the chain of each of these writes, by id.

    There is one query for each step, however many writes there are.
    """
    steps_by_write: dict[str, list[Rollback]] = {name: [] for name in audit_ids}
    heads = {name: name for name in audit_ids}
    for _step in range(LONGEST):
        rows = _find_rollbacks(db, set(heads.values())) if heads else {}
        heads = {name: head for name, head in heads.items() if head in rows}
        for name, head in heads.items():
            steps_by_write[name].append(rows[head])
        heads = {name: own for name, head in heads.items() if (own := rows[head].own_audit_id)}
    return {name: Chain(steps) for name, steps in steps_by_write.items()}


def read_chain(row: WriteGuardianAudit) -> Chain:
    """Return the chain of one write."""
    return read_chains(row._state.db or "", [row.id])[row.id]


def find_restored_ids(db: str, rolled_back: Collection[str]) -> set[str]:
    """Return the ids of rolled back writes that were restored; no query without ids."""
    return {name for name, chain in read_chains(db, rolled_back).items() if chain.standing}


def read_subjects(db: str, rollback_ids: Collection[str]) -> dict[str, RollbackSubject]:
    """Return the subject of each of these rollbacks, by its own id; no query without ids."""
    subjects: dict[str, RollbackSubject] = {}
    heads = {name: name for name in rollback_ids}
    for step in range(LONGEST):
        rows = _find_taken_back(db, set(heads.values())) if heads else {}
        for name, head in heads.items():
            subjects[name] = RollbackSubject(len(rows[head]) or 1, is_undone=step % 2 == 1)
        heads = {name: inner for name, head in heads.items() if (inner := _find_undone_rollback(rows[head]))}
    return subjects


def _find_rollbacks(db, audit_ids):
    """Return the rollback of each of these writes, where it has one."""
    return {row.audit_id: row for row in Rollback.objects.using(db).filter(audit__in=audit_ids)}


def _find_taken_back(db, own_ids):
    """Return the writes that each of these rollbacks took back, with their origins."""
    rows_by_rollback = defaultdict(list)
    rows = Rollback.objects.using(db).filter(own_audit__in=own_ids)
    for own_id, audit_id, origin in rows.values_list("own_audit_id", "audit_id", "audit__origin"):
        rows_by_rollback[own_id].append((audit_id, origin))
    return rows_by_rollback


def _find_undone_rollback(rows):
    """Return the rollback that was undone; None: writes were taken back."""
    return rows[0][0] if len(rows) == 1 and rows[0][1] == ROLLBACK else None
