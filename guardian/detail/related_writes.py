"""Writes that belong to rows of other pages: turns, decisions, or versions of files."""

from collections.abc import Collection, Iterable

from gate.models import MemoryGateDecision

from ..models import WriteGuardianAudit

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
    """Return the ids of these writes that were rolled back."""
    return [row.id for row in rows if row.status == WriteGuardianAudit.Status.ROLLED_BACK]


def sort_written_first(rows: list[WriteGuardianAudit]) -> list[WriteGuardianAudit]:
    """Sort writes so that those that changed a file come first."""
    changed = (WriteGuardianAudit.Status.WRITTEN, WriteGuardianAudit.Status.ROLLED_BACK)
    return sorted(rows, key=lambda row: row.status not in changed)


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
