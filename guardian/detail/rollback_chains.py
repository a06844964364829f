"""A rollback can be rolled back too: what became of a write in the end, and what a rollback was about."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from ..models import Rollback, WriteGuardianAudit

LONGEST = 20  # rollbacks of rollbacks that are followed
ROLLBACK = WriteGuardianAudit.Origin.ROLLBACK


@dataclass(frozen=True, slots=True)
class Chain:
    """The rollback of a write, the rollback of that, and so on: in turn they take the write back and restore it."""

    steps: list[Rollback]

    @property
    def standing(self) -> str | None:
        """The last write that restored it; None: it was not restored, or that was taken back again."""
        is_restored = self.steps and len(self.steps) % 2 == 0
        return self.steps[-1].own_audit_id if is_restored else None


@dataclass(frozen=True, slots=True)
class RollbackSubject:
    """What a rollback is about: how many writes, and whether it took them back or undid another rollback of them."""

    count: int
    is_undone: bool


def read_chains(db: str, audit_ids: Collection[str]) -> dict[str, Chain]:
    """What became of each of these writes, by its id: a query for each step, however many writes there are."""
    found: dict[str, list[Rollback]] = {name: [] for name in audit_ids}
    heads = {name: name for name in audit_ids}
    for _step in range(LONGEST):
        rows = _rollbacks_of(db, set(heads.values())) if heads else {}
        heads = {name: head for name, head in heads.items() if head in rows}
        for name, head in heads.items():
            found[name].append(rows[head])
        heads = {name: own for name, head in heads.items() if (own := rows[head].own_audit_id)}
    return {name: Chain(steps) for name, steps in found.items()}


def read_chain(row: WriteGuardianAudit) -> Chain:
    """What became of one write."""
    return read_chains(row._state.db or "", [row.id])[row.id]


def find_restored_ids(db: str, rolled_back: Collection[str]) -> set[str]:
    """The ids of those of these rolled back writes that were done again; nothing is asked when there are none."""
    return {name for name, chain in read_chains(db, rolled_back).items() if chain.standing}


def read_subjects(db: str, rollback_ids: Collection[str]) -> dict[str, RollbackSubject]:
    """What each of these rollbacks is about, by its own id; nothing is asked when there are none."""
    found: dict[str, RollbackSubject] = {}
    heads = {name: name for name in rollback_ids}
    for step in range(LONGEST):
        rows = _taken_by(db, set(heads.values())) if heads else {}
        for name, head in heads.items():
            found[name] = RollbackSubject(len(rows[head]) or 1, is_undone=step % 2 == 1)
        heads = {name: inner for name, head in heads.items() if (inner := _rollback_among(rows[head]))}
    return found


def _rollbacks_of(db, audit_ids):
    """The rollback of each of these writes that has one."""
    return {row.audit_id: row for row in Rollback.objects.using(db).filter(audit__in=audit_ids)}


def _taken_by(db, own_ids):
    """The writes that each of these rollbacks took back, with where they come from."""
    found = defaultdict(list)
    rows = Rollback.objects.using(db).filter(own_audit__in=own_ids)
    for own_id, audit_id, origin in rows.values_list("own_audit_id", "audit_id", "audit__origin"):
        found[own_id].append((audit_id, origin))
    return found


def _rollback_among(rows):
    """The rollback that was undone; None: writes were taken back."""
    return rows[0][0] if len(rows) == 1 and rows[0][1] == ROLLBACK else None
