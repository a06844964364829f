"""Changes of memory files that nobody told of, as rows among the writes."""

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

CONSOLIDATION = "consolidation"  # the reason of a change that the plugin's consolidation made
BRACKET_MS = 600_000  # how far from a change the lines of its consolidation are
SLACK_MS = 1_000
Rows = dict[str, WriteGuardianAudit]
Diffs = Callable[[str | None, str], Change | None]


def find_turns_between(db: str, audit: WriteGuardianAudit) -> QuerySet[ConversationTurn]:
    """The turns in which an unattributed write may have been made, the newest first; none for other writes."""
    turns = ConversationTurn.objects.using(db)
    if audit.earliest_at is None:
        return turns.none()
    within = turns.filter(created_at__gt=audit.earliest_at, created_at__lte=audit.created_at + SLACK_MS)
    return within.order_by("-created_at", "-id")


def compute_change_id(version_id: str) -> str:
    """The id of the unannounced change that led to a version: always the same."""
    return f"u{hashlib.sha256(version_id.encode()).hexdigest()[:31]}"


def find_rows(db: str, name: str, found: Sequence[SnapshotPair]) -> Rows:
    """The rows that there are of unannounced changes, by id: from the first of these gaps on."""
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, origin=Origin.UNATTRIBUTED)
    rows = rows.filter(created_at__gte=found[0].at) if found else rows.none()
    return {row.id: row for row in rows.defer("diff", "hunks_json")}


def sync_row(db: str, name: str, gap: SnapshotPair, rows: Rows, diffs: Diffs, settled: Any, *, is_shared: bool) -> None:
    """Have the row of a gap that nobody told of, or else give what people did about it to whoever told since."""
    audits = WriteGuardianAudit.objects.using(db)
    row = rows.get(compute_change_id(gap.after))
    if gap.is_unannounced:
        columns = _columns(gap, is_shared)
        if row is None:
            _add(db, name, gap, columns | build_change_columns(diffs(gap.before, gap.after)))
            settled.unattributed += 1
        elif any(getattr(row, column) != value for column, value in columns.items()):
            audits.filter(id=row.id).update(**columns, **build_change_columns(diffs(gap.before, gap.after)))
        return
    teller = gap.owner or (gap.loose[-1].id if gap.loose else None)
    if row is not None and teller is not None and write_replacement.may_replace(db, row.id, teller):
        write_replacement.replace_write(db, row, audits.get(id=teller))
        settled.withdrawn += 1
    elif row is not None and (gap.is_same or gap.is_of_another) and not _is_acted_on(db, row.id):
        row.delete(using=db)
        settled.withdrawn += 1


def _columns(gap, is_shared):
    return {
        "before_snapshot_id": gap.before,
        "after_snapshot_id": gap.after,
        "is_diff_shared": is_shared,
        "created_at": gap.at,
        "earliest_at": gap.since,
    }


def _add(db, name, gap, columns):
    row = WriteGuardianAudit(
        id=compute_change_id(gap.after),
        target_file=name,
        status=Status.WRITTEN,
        reason=_reason(db, gap.at),  # what the log tells later is added then
        origin=Origin.UNATTRIBUTED,
        sources=Source.FILES,
        **columns,
    )
    sql.insert_rows(db, [row])
    status = GuardianStatus(audit_id=row.id, status=row.status, given_by="", created_at=row.created_at)
    sql.insert_rows(db, [status])


def remove_stale_rows(db: str, found: Sequence[SnapshotPair], rows: Rows, settled: Any) -> None:
    """Remove rows of changes that turn out to be none, unless people did something about them."""
    for row_id in rows.keys() - {compute_change_id(gap.after) for gap in found}:
        if not _is_acted_on(db, row_id):
            WriteGuardianAudit.objects.using(db).filter(id=row_id).delete()
            settled.withdrawn += 1


def _is_acted_on(db, row_id):
    kinds = (Rollback.objects.using(db), BehaviorCorrection.objects.using(db))
    return write_replacement.is_being_rolled_back(db, row_id) or any(
        rows.filter(audit=row_id).exists() for rows in kinds
    )


def store_consolidations(db: str, moments: Iterable[int]) -> None:
    """Remember when the plugin's log says that its consolidation was at work, and name the changes it made."""
    known = sorted(set(moments))
    if not known:
        return
    Consolidation.objects.using(db).bulk_create([Consolidation(at=at) for at in known], ignore_conflicts=True)
    rows = WriteGuardianAudit.objects.using(db).filter(origin=Origin.UNATTRIBUTED)
    near = rows.filter(created_at__gte=known[0] - BRACKET_MS, created_at__lte=known[-1] + BRACKET_MS)
    for row in near.only("id", "created_at", "reason"):
        if row.reason != (reason := _reason(db, row.created_at)):
            rows.filter(id=row.id).update(reason=reason)


def _reason(db, at):
    """What is known of why a file was changed at this moment: between two lines of one consolidation."""
    lines = Consolidation.objects.using(db)
    before, after = (at - BRACKET_MS, at + SLACK_MS), (at - SLACK_MS, at + BRACKET_MS)
    is_between = all(lines.filter(at__range=span).exists() for span in (before, after))
    return CONSOLIDATION if is_between else None
