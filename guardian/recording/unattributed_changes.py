"""Unattributed changes of memory files, as rows among the writes."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db.models import QuerySet

from ledger.models import ConversationTurn

from ..changes import Change
from ..models import BehaviorCorrection, Consolidation, GuardianStatus, Rollback, WriteGuardianAudit
from . import sql, write_replacement
from .reports import Origin, Source, Status, build_change_columns
from .snapshot_pairs import SnapshotPair

CONSOLIDATION = "consolidation"  # the reason of changes by the plugin's consolidation
BRACKET_MS = 600_000  # between a change and the log lines of its consolidation
SLACK_MS = 1_000
Rows = dict[str, WriteGuardianAudit]
Diffs = Callable[[str | None, str], Change | None]


def find_turns_between(db: str, audit: WriteGuardianAudit) -> QuerySet[ConversationTurn]:
    """Return the turns in which an unattributed write may have been made, newest first.

    None for other writes.
    """
    turns = ConversationTurn.objects.using(db)
    if audit.earliest_at is None:
        return turns.none()
    within = turns.filter(created_at__gt=audit.earliest_at, created_at__lte=audit.created_at + SLACK_MS)
    return within.order_by("-created_at", "-id")


def compute_change_id(version_id: str) -> str:
    """Compute the id of the unattributed change that led to a snapshot: always the same."""
    return f"u{hashlib.sha256(version_id.encode()).hexdigest()[:31]}"


def find_rows(db: str, name: str, pairs: Sequence[SnapshotPair]) -> Rows:
    """Return the rows of unattributed changes by id, from the first of these pairs on."""
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, origin=Origin.UNATTRIBUTED)
    rows = rows.filter(created_at__gte=pairs[0].at) if pairs else rows.none()
    return {row.id: row for row in rows.defer("diff", "hunks_json")}


def sync_row(db: str, name: str, pair: SnapshotPair, rows: Rows, diffs: Diffs, result: Any, *, is_shared: bool) -> None:
    """Create, update or replace the row of an unattributed change between two snapshots.

    Once a source has reported the change, its write gets what people did about the row.
    """
    audits = WriteGuardianAudit.objects.using(db)
    row = rows.get(compute_change_id(pair.after))
    if pair.is_unattributed:
        columns = _build_columns(pair, is_shared)
        if row is None:
            _add_row(db, name, pair, columns | build_change_columns(diffs(pair.before, pair.after)))
            result.unattributed += 1
        elif any(getattr(row, column) != value for column, value in columns.items()):
            audits.filter(id=row.id).update(**columns, **build_change_columns(diffs(pair.before, pair.after)))
        return
    reported_id = pair.owner or (pair.inexact_writes[-1].id if pair.inexact_writes else None)
    if row is not None and reported_id is not None and write_replacement.may_replace(db, row.id, reported_id):
        write_replacement.replace_write(db, row, audits.get(id=reported_id))
        result.withdrawn += 1
    elif row is not None and (pair.is_same or pair.is_of_another) and not _is_acted_on(db, row.id):
        row.delete(using=db)
        result.withdrawn += 1


def _build_columns(pair, is_shared):
    return {
        "before_snapshot_id": pair.before,
        "after_snapshot_id": pair.after,
        "is_diff_shared": is_shared,
        "created_at": pair.at,
        "earliest_at": pair.since,
    }


def _add_row(db, name, pair, columns):
    row = WriteGuardianAudit(
        id=compute_change_id(pair.after),
        target_file=name,
        status=Status.WRITTEN,
        reason=_find_reason(db, pair.at),  # the log may add a reason later
        origin=Origin.UNATTRIBUTED,
        sources=Source.FILES,
        **columns,
    )
    sql.insert_rows(db, [row])
    status = GuardianStatus(audit_id=row.id, status=row.status, given_by="", created_at=row.created_at)
    sql.insert_rows(db, [status])


def remove_stale_rows(db: str, pairs: Sequence[SnapshotPair], rows: Rows, result: Any) -> None:
    """Remove rows of changes that no longer exist, unless people acted on them."""
    for row_id in rows.keys() - {compute_change_id(pair.after) for pair in pairs}:
        if not _is_acted_on(db, row_id):
            WriteGuardianAudit.objects.using(db).filter(id=row_id).delete()
            result.withdrawn += 1


def _is_acted_on(db, row_id):
    kinds = (Rollback.objects.using(db), BehaviorCorrection.objects.using(db))
    return write_replacement.is_being_rolled_back(db, row_id) or any(
        rows.filter(audit=row_id).exists() for rows in kinds
    )


def store_consolidations(db: str, moments: Iterable[int]) -> None:
    """Store when the plugin's log reports its consolidation, and name the changes it made."""
    known_moments = sorted(set(moments))
    if not known_moments:
        return
    Consolidation.objects.using(db).bulk_create([Consolidation(at=at) for at in known_moments], ignore_conflicts=True)
    rows = WriteGuardianAudit.objects.using(db).filter(origin=Origin.UNATTRIBUTED)
    near = rows.filter(created_at__gte=known_moments[0] - BRACKET_MS, created_at__lte=known_moments[-1] + BRACKET_MS)
    for row in near.only("id", "created_at", "reason"):
        if row.reason != (reason := _find_reason(db, row.created_at)):
            rows.filter(id=row.id).update(reason=reason)


def _find_reason(db, at):
    """Return the known reason of a change at this moment.

    A change between two lines of one consolidation has its reason.
    """
    lines = Consolidation.objects.using(db)
    before, after = (at - BRACKET_MS, at + SLACK_MS), (at - SLACK_MS, at + BRACKET_MS)
    is_between = all(lines.filter(at__range=span).exists() for span in (before, after))
    return CONSOLIDATION if is_between else None
