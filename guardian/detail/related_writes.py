"""Writes that belong to rows of other pages: turns, decisions, or versions of files."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gate.models import MemoryGateDecision

from ..models import Rollback, WriteGuardianAudit
from ..recording.reports import CHANGED

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
        rows = (
            {row.audit_id: row for row in Rollback.objects.using(db).filter(audit__in=set(heads.values()))}
            if heads
            else {}
        )
        heads = {name: head for name, head in heads.items() if head in rows}
        for name, head in heads.items():
            steps_by_write[name].append(rows[head])
        heads = {name: own for name, head in heads.items() if (own := rows[head].own_audit_id)}
    return {name: Chain(steps) for name, steps in steps_by_write.items()}


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


MOST = 50
BRIEF = ("id", "created_at", "status", "origin", "candidate_fact", "reason", "target_file", "turn_id")
SUMS = ("lines_added", "lines_removed", "after_snapshot_id", "is_diff_shared", "rule_id", "decision_id")


def find_by_turn(db: str, turn_ids: Collection[str]) -> dict[str, list[WriteGuardianAudit]]:
    """Return the writes of these turns by turn id, oldest first.

    Turns without writes are left out.
    """
    writes_by_turn: dict[str, list[WriteGuardianAudit]] = {}
    for row in _select_brief(db).filter(turn_id__in=turn_ids).order_by("turn_id", "created_at"):
        writes_by_turn.setdefault(row.turn_id or "", []).append(row)
    return writes_by_turn


def get_rolled_back_ids(rows: Iterable[WriteGuardianAudit]) -> list[str]:
    return [row.id for row in rows if row.status == WriteGuardianAudit.Status.ROLLED_BACK]


def sort_written_first(rows: list[WriteGuardianAudit]) -> list[WriteGuardianAudit]:
    """Sort writes so that those that changed a file come first."""
    return sorted(rows, key=lambda row: row.status not in CHANGED)


def has_changes(db: str, session_id: str) -> bool:
    """Return whether a session has a write to roll back.

    Such a write changed a file and is in force.
    """
    rows = WriteGuardianAudit.objects.using(db).filter(session_id=session_id)
    standing = rows.filter(status=WriteGuardianAudit.Status.WRITTEN, hunks_json__isnull=False)
    return standing.exclude(origin=WriteGuardianAudit.Origin.ROLLBACK).order_by().exists()


def find_by_decision(db: str, decision_id: str) -> list[WriteGuardianAudit]:
    """Return the writes that a decision led to, oldest first, at most MOST."""
    return list(_select_brief(db).filter(decision_id=decision_id).order_by("created_at")[:MOST])


def find_main_by_decision(db: str, decision_ids: Collection[str]) -> dict[str, WriteGuardianAudit]:
    """Return the most telling write of each decision: one that changed a file, else the last."""
    by_decision: dict[str, list[WriteGuardianAudit]] = {}
    for row in (
        _select_brief(db).filter(decision_id__in=decision_ids).order_by("decision_id", "-created_at")[: MOST * 10]
    ):
        by_decision.setdefault(row.decision_id or "", []).append(row)
    return {name: sort_written_first(rows)[0] for name, rows in by_decision.items()}


def find_by_version(db: str, version_ids: Collection[str]) -> dict[str, list[WriteGuardianAudit]]:
    """Return the writes that led to each of these versions, by version id, oldest first."""
    writes_by_version: dict[str, list[WriteGuardianAudit]] = {}
    rows = _select_brief(db).filter(after_snapshot_id__in=version_ids)
    for row in sorted(rows[: MOST * 10], key=lambda row: (row.created_at, row.id)):
        writes_by_version.setdefault(row.after_snapshot_id or "", []).append(row)
    return writes_by_version


def find_decisions(db: str, rows: Iterable[WriteGuardianAudit]) -> dict[str, MemoryGateDecision]:
    """Return the stored decisions of these writes, by id."""
    names = {row.decision_id for row in rows if row.decision_id}
    return MemoryGateDecision.objects.using(db).only("id", "decision").in_bulk(names) if names else {}


def _select_brief(db):
    return WriteGuardianAudit.objects.using(db).only(*BRIEF, *SUMS)
