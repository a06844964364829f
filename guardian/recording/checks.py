"""The doctor's checks of writes to memory files; only `mend_…` functions change anything."""

from collections.abc import Iterable, Iterator

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext_lazy as _

from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.integrity import (
    DAMAGED,
    DIFFERENT,
    Check,
    Reference,
    build_damage_finder,
    build_reference_check,
    build_referrer_check,
    build_row_removal,
)

from ..changes import Change, compute_change
from ..models import (
    BehaviorCorrection,
    FileSnapshot,
    GuardianReceipt,
    GuardianRun,
    GuardianStatus,
    Rollback,
    RollbackIntent,
    WriteGuardianAudit,
    shared_columns,
)
from ..rollbacks import recovery
from ..services import DamagedVersion, read_version_bytes
from .reports import CHANGED, Source, Status, build_change_columns
from .snapshot_pruning import SNAPSHOT_REFERENCES

OPEN_MS = 60_000  # a rollback that takes longer was interrupted
CHUNK = 50  # versions have up to megabytes
damaged_snapshots = build_damage_finder(FileSnapshot, read_version_bytes, chunk=CHUNK)
RECEIPT = Reference(
    GuardianReceipt, "audit_id", WriteGuardianAudit
)  # without it, a lost write could not be recorded again
RULES = [Reference(model, "rule_id", BehaviorCorrection) for model in (WriteGuardianAudit, GuardianRun)]
INTERRUPTED = ngettext_lazy(
    "%(rows)s of %(place)s was interrupted and is neither finished nor undone: %(named)s.",
    "%(rows)s of %(place)s were interrupted and are neither finished nor undone: %(named)s.",
    "count",
)


def find_without_rollback(db: str) -> QuerySet[WriteGuardianAudit]:
    """Find writes whose status and history say rolled back, without a row of the rollback.

    Who did it and why is lost.
    """
    rows = _with_last_status(db).exclude(Exists(Rollback.objects.using(db).filter(audit=OuterRef("id"))))
    return rows.filter(status=Status.ROLLED_BACK, last=Status.ROLLED_BACK)


def find_without_intent(db: str) -> list[str]:
    """Return ids of writes and rollbacks of this site without an intent."""
    own_writes = WriteGuardianAudit.objects.using(db).filter(origin__in=("own", "rollback"), status__in=CHANGED)
    ids = own_writes.alias(is_own=F("sources").bitand(Source.OWN)).exclude(is_own=0).values_list("id", flat=True)
    intent_texts = RollbackIntent.objects.using(db).values_list("told_json", flat=True)
    intended = {RollbackIntent.told.decode(text).get("own_id") for text in intent_texts}
    missing = set(ids) - intended
    renamed_ids = GuardianReceipt.objects.using(db).filter(audit_id__in=missing).values_list("id", "audit_id")
    return sorted(missing - {audit_id for name, audit_id in renamed_ids if name in intended})


def find_without_receipt(db: str) -> QuerySet[WriteGuardianAudit]:
    """Find writes that a plugin reported, without a receipt.

    Other content under the same id would not be noticed.
    """
    reported = WriteGuardianAudit.objects.using(db).alias(is_told=F("sources").bitand(Source.API)).exclude(is_told=0)
    receipts = GuardianReceipt.objects.using(db)
    by_id = receipts.filter(id=OuterRef("id"))
    by_other = receipts.filter(audit_id=OuterRef("id")).exclude(id=F("audit_id"))  # few rows, in an index
    return reported.filter(~Exists(by_id), ~Exists(by_other))


def find_wrong_diffs(db: str) -> Iterator[str]:
    """Yield ids of writes whose diff does not follow from the versions before and after them."""
    for row, change in _read_changes(db, WriteGuardianAudit.objects.using(db)):
        if any(getattr(row, name) != value for name, value in build_change_columns(change).items()):
            yield row.id


def mend_diffs(db: str, ids: Iterable[str]) -> int:
    """Compute the diffs of these writes again, and return how many."""
    count = 0
    for row, change in _read_changes(db, WriteGuardianAudit.objects.using(db).filter(id__in=list(ids))):
        columns = build_change_columns(change)
        with write_queue.agent_transaction(db):
            # What is stored of them may be damaged.
            shared_columns.remove_contents(db, [columns["diff"], columns["hunks_json"]])
            WriteGuardianAudit.objects.using(db).filter(id=row.id).update(**columns)
        count += 1
    return count


def _read_changes(db, rows) -> Iterator[tuple[WriteGuardianAudit, Change]]:
    """Yield writes with the change between their versions, where these are complete."""
    # A missing version does not mean that there was no file: such a write keeps the diff in its row.
    known = rows.exclude(before_snapshot=None, after_snapshot=None)
    for reference in SNAPSHOT_REFERENCES[:2]:
        known = known.exclude(id__in=reference.missing_rows(db).values("id"))
    known = known.select_related("before_snapshot", "after_snapshot")
    for row in known.order_by("id").iterator(chunk_size=CHUNK):
        try:
            before, after = (
                read_version_bytes(snapshot) if snapshot else None
                for snapshot in (row.before_snapshot, row.after_snapshot)
            )
        except DamagedVersion:
            continue
        yield row, compute_change(before, after, row.target_file or "")


def find_open_intents(db: str) -> QuerySet[RollbackIntent]:
    """Find interrupted rollbacks that nobody has finished or undone."""
    now = clock.now_ms()
    is_old = Q(created_at__lt=now - OPEN_MS) | Q(
        created_at__gt=now + OPEN_MS
    )  # a rollback from the future is not under way
    return RollbackIntent.objects.using(db).filter(is_old, ended_at=None)


def find_wrong_statuses(db: str) -> QuerySet[WriteGuardianAudit]:
    """Find writes whose status differs from the end of their history, or from their rollback."""
    rows = _with_last_status(db).alias(is_undone=Exists(Rollback.objects.using(db).filter(audit=OuterRef("id"))))
    is_other = Q(last=None) | ~Q(last=F("status"))
    # If row and history say rolled back and the rollback is missing, the status is right: without_rollback finds these.
    return rows.filter(is_other | ~Q(status=Status.ROLLED_BACK) & Q(is_undone=True))


def _with_last_status(db):
    history = GuardianStatus.objects.using(db).filter(audit=OuterRef("id")).order_by("-created_at", "-id")
    return WriteGuardianAudit.objects.using(db).alias(last=Subquery(history.values("status")[:1]))


def mend_statuses(db: str) -> int:
    """Correct the status of each write and the end of its history; return how many.

    The rollback or the history decides.
    """
    ids = list(find_wrong_statuses(db).values_list("id", flat=True))
    for audit_id in ids:
        with write_queue.agent_transaction(db):
            audits = WriteGuardianAudit.objects.using(db).filter(id=audit_id)
            history = list(GuardianStatus.objects.using(db).filter(audit=audit_id).order_by("created_at", "id"))
            rollback = Rollback.objects.using(db).filter(audit=audit_id).first()
            row = audits.get()
            earlier_statuses = [entry.status for entry in history if entry.status != Status.ROLLED_BACK]
            status = (
                earlier_statuses[-1]
                if earlier_statuses
                else Status.WRITTEN
                if row.status == Status.ROLLED_BACK
                else row.status
            )
            if rollback or (history and history[-1].status == Status.ROLLED_BACK):
                status = Status.ROLLED_BACK  # the end of the history decides, even without the row of the rollback
            audits.update(status=status)
            if not history or history[-1].status != status:
                at = max(
                    [rollback.rolled_back_at if rollback else row.created_at, *(entry.created_at for entry in history)]
                )
                columns = (
                    {"given_by": rollback.rolled_back_by, "reason": rollback.reason} if rollback else {"given_by": ""}
                )
                GuardianStatus.objects.using(db).create(audit_id=audit_id, status=status, created_at=at, **columns)
    return len(ids)


def _find_ids(find_rows):
    return lambda db: find_rows(db).order_by("id").values_list("id", flat=True)


CHECKS = (
    build_reference_check(
        "guardian_receipts", RECEIPT, noun="receipts", target=_("a write"), repair=build_row_removal(RECEIPT)
    ),
    Check(
        name="guardian_intents",
        sentence=INTERRUPTED,
        noun="rollbacks",
        find=_find_ids(find_open_intents),
        repair=lambda agent: len(recovery.recover(agent)),
    ),
    Check(
        name="guardian_statuses",
        sentence=DIFFERENT,
        noun="statuses",
        target=_("the histories of the writes"),
        find=_find_ids(find_wrong_statuses),
        repair=lambda agent: mend_statuses(agent.db),
    ),
    build_reference_check("guardian_versions_gone", *SNAPSHOT_REFERENCES, target=_("a version of a memory file")),
    build_referrer_check(
        "guardian_rollbacks",
        _find_ids(find_without_rollback),
        Rollback,
        "audit_id",
        noun="writes",
        target=_("rollback"),
    ),
    build_reference_check("guardian_corrections", *RULES, target=_("a correction")),
    build_referrer_check(
        "guardian_intents_gone",
        find_without_intent,
        RollbackIntent,
        "told_json",
        names=lambda text: (RollbackIntent.told.decode(text).get("own_id"),),
        noun="writes",
        target=_("intent"),
    ),
    build_referrer_check(
        "guardian_receipts_gone",
        _find_ids(find_without_receipt),
        GuardianReceipt,
        "audit_id",
        noun="writes",
        target=_("receipt"),
    ),
    Check(name="guardian_versions", sentence=DAMAGED, noun="versions", find_deep=damaged_snapshots),
    Check(
        name="guardian_diffs",
        sentence=DIFFERENT,
        noun="diffs",
        target=_("the versions of the files"),
        find_deep=find_wrong_diffs,
        repair=lambda agent: mend_diffs(agent.db, find_wrong_diffs(agent.db)),
    ),
)
