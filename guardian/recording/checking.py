"""Whether writes are what their versions, statuses and receipts say. Only what begins with `mend_` changes anything."""

from collections.abc import Iterable, Iterator

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from gate.recording import checking
from openclaw_web import clock
from openclaw_web.sqlite import writing

from ..changes import Change, change_of
from ..exact import NotExact, data_of
from ..models import (
    BehaviorCorrection,
    FileSnapshot,
    GuardianReceipt,
    GuardianStatus,
    Rollback,
    RollbackIntent,
    WriteGuardianAudit,
)
from .told import Status, columns_of

OPEN_MS = 60_000  # a rollback that takes longer was broken off
CHUNK = 50  # versions have up to megabytes
CHECKED = (WriteGuardianAudit, FileSnapshot, GuardianStatus, Rollback, RollbackIntent, BehaviorCorrection)


def of_other_types(db: str) -> list[str]:
    """Ids of rows with values that their columns do not have: nothing else can be asked of them."""
    return checking.of_other_types(db, CHECKED)


def damaged_versions(db: str) -> Iterator[str]:
    """Ids of versions of memory files whose bytes are not what their hash says."""
    for row in FileSnapshot.objects.using(db).order_by("id").iterator(chunk_size=CHUNK):
        if row.is_lossy and row.raw is None:
            continue  # of an older version, which did not keep them
        try:
            data_of(row)
        except NotExact:
            yield row.id


def wrong_diffs(db: str) -> Iterator[str]:
    """Ids of writes whose diff does not follow from the versions before and after them."""
    for row, change in _with_change(db, WriteGuardianAudit.objects.using(db)):
        if any(getattr(row, name) != value for name, value in columns_of(change).items()):
            yield row.id


def mend_diffs(db: str, ids: Iterable[str]) -> int:
    """Make the diffs of these writes again."""
    count = 0
    for row, change in _with_change(db, WriteGuardianAudit.objects.using(db).filter(id__in=list(ids))):
        WriteGuardianAudit.objects.using(db).filter(id=row.id).update(**columns_of(change))
        count += 1
    return count


def _with_change(db, rows) -> Iterator[tuple[WriteGuardianAudit, Change]]:
    """Writes with what lies between their versions, those whose versions have all of their bytes."""
    known = rows.exclude(before_snapshot=None, after_snapshot=None).select_related("before_snapshot", "after_snapshot")
    for row in known.order_by("id").iterator(chunk_size=CHUNK):
        try:
            before, after = (data_of(one) if one else None for one in (row.before_snapshot, row.after_snapshot))
        except NotExact:
            continue
        yield row, change_of(before, after, row.target_file or "")


def lonely_receipts(db: str) -> QuerySet[GuardianReceipt]:
    """Receipts of writes that are not there: told again, they would be taken for known."""
    write = WriteGuardianAudit.objects.using(db).filter(id=OuterRef("audit_id"))
    return GuardianReceipt.objects.using(db).filter(~Exists(write))


def open_intents(db: str) -> QuerySet[RollbackIntent]:
    """Rollbacks that were broken off: nobody finished or undid them."""
    before = clock.now_ms() - OPEN_MS
    return RollbackIntent.objects.using(db).filter(ended_at=None, created_at__lt=before)


def wrong_statuses(db: str) -> QuerySet[WriteGuardianAudit]:
    """Writes whose status is not the last one of their history, or not what their rollback says."""
    history = GuardianStatus.objects.using(db).filter(audit=OuterRef("id")).order_by("-created_at", "-id")
    undone = Exists(Rollback.objects.using(db).filter(audit=OuterRef("id")))
    rows = WriteGuardianAudit.objects.using(db).alias(last=Subquery(history.values("status")[:1]), is_undone=undone)
    is_other = Q(last=None) | ~Q(last=F("status"))
    without = Q(status=Status.ROLLED_BACK, is_undone=False) | ~Q(status=Status.ROLLED_BACK) & Q(is_undone=True)
    return rows.filter(is_other | without)


def mend_statuses(db: str) -> int:
    """Give each write the status that its rollback or history says, and its history that status as the last one."""
    ids = list(wrong_statuses(db).values_list("id", flat=True))
    for audit_id in ids:
        with writing.in_turn_of(db):
            _mend_status(db, audit_id)
    return len(ids)


def _mend_status(db, audit_id):
    audits = WriteGuardianAudit.objects.using(db).filter(id=audit_id)
    history = list(GuardianStatus.objects.using(db).filter(audit=audit_id).order_by("created_at", "id"))
    rollback = Rollback.objects.using(db).filter(audit=audit_id).first()
    row = audits.get()
    told = [one.status for one in history if one.status != Status.ROLLED_BACK]
    wanted = told[-1] if told else Status.WRITTEN if row.status == Status.ROLLED_BACK else row.status
    if rollback:
        wanted = Status.ROLLED_BACK
    audits.update(status=wanted)
    if not history or history[-1].status != wanted:
        at = max([rollback.rolled_back_at if rollback else row.created_at, *(one.created_at for one in history)])
        said = {"given_by": rollback.rolled_back_by, "reason": rollback.reason} if rollback else {"given_by": ""}
        GuardianStatus.objects.using(db).create(audit_id=audit_id, status=wanted, created_at=at, **said)
