"""What the doctor looks for in writes to memory files. Only what begins with `mend_` changes anything."""

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
from ..file_bytes import DamagedVersion, read_version_bytes
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
from .reports import CHANGED, Source, Status, build_change_columns
from .snapshot_pruning import SNAPSHOT_REFERENCES

OPEN_MS = 60_000  # a rollback that takes longer was broken off
CHUNK = 50  # versions have up to megabytes
damaged_snapshots = build_damage_finder(FileSnapshot, read_version_bytes, chunk=CHUNK)
RECEIPT = Reference(
    GuardianReceipt, "audit_id", WriteGuardianAudit
)  # told again, a lost write would be taken for known
RULES = [Reference(model, "rule_id", BehaviorCorrection) for model in (WriteGuardianAudit, GuardianRun)]
INTERRUPTED = ngettext_lazy(
    "%(rows)s of %(place)s was interrupted and is neither finished nor undone: %(named)s.",
    "%(rows)s of %(place)s were interrupted and are neither finished nor undone: %(named)s.",
    "count",
)


def find_without_rollback(db: str) -> QuerySet[WriteGuardianAudit]:
    """Writes that were rolled back, as their history says too, and whose rollback is not there: who did it, and why."""
    rows = _with_last_status(db).exclude(Exists(Rollback.objects.using(db).filter(audit=OuterRef("id"))))
    return rows.filter(status=Status.ROLLED_BACK, last=Status.ROLLED_BACK)


def find_without_intent(db: str) -> list[str]:
    """Ids of what this site wrote into memory files, rollbacks among it, of which no intent tells."""
    wrote = WriteGuardianAudit.objects.using(db).filter(origin__in=("own", "rollback"), status__in=CHANGED)
    ids = wrote.alias(is_own=F("sources").bitand(Source.OWN)).exclude(is_own=0).values_list("id", flat=True)
    told = RollbackIntent.objects.using(db).values_list("told_json", flat=True)
    intended = {RollbackIntent.told.decode(text).get("own_id") for text in told}
    missing = set(ids) - intended
    moved = GuardianReceipt.objects.using(db).filter(audit_id__in=missing).values_list("id", "audit_id")
    return sorted(missing - {audit_id for name, audit_id in moved if name in intended})


def find_without_receipt(db: str) -> QuerySet[WriteGuardianAudit]:
    """Writes that a plugin told of and of which no receipt tells: other content under the same id is not noticed."""
    told = WriteGuardianAudit.objects.using(db).alias(is_told=F("sources").bitand(Source.API)).exclude(is_told=0)
    receipts = GuardianReceipt.objects.using(db)
    by_id = receipts.filter(id=OuterRef("id"))
    by_other = receipts.filter(audit_id=OuterRef("id")).exclude(id=F("audit_id"))  # which are few, and in an index
    return told.filter(~Exists(by_id), ~Exists(by_other))


def find_wrong_diffs(db: str) -> Iterator[str]:
    """Ids of writes whose diff does not follow from the versions before and after them."""
    for row, change in _with_change(db, WriteGuardianAudit.objects.using(db)):
        if any(getattr(row, name) != value for name, value in build_change_columns(change).items()):
            yield row.id


def mend_diffs(db: str, ids: Iterable[str]) -> int:
    """Make the diffs of these writes again."""
    count = 0
    for row, change in _with_change(db, WriteGuardianAudit.objects.using(db).filter(id__in=list(ids))):
        columns = build_change_columns(change)
        with write_queue.agent_transaction(db):
            # What is stored of them may be damaged.
            shared_columns.remove_contents(db, [columns["diff"], columns["hunks_json"]])
            WriteGuardianAudit.objects.using(db).filter(id=row.id).update(**columns)
        count += 1
    return count


def _with_change(db, rows) -> Iterator[tuple[WriteGuardianAudit, Change]]:
    """Writes with what lies between their versions, those whose versions are there and have all of their bytes."""
    # A version that is missing is not a file that was not there: what is known of such a write is in its row.
    known = rows.exclude(before_snapshot=None, after_snapshot=None)
    for reference in SNAPSHOT_REFERENCES[:2]:
        known = known.exclude(id__in=reference.missing_rows(db).values("id"))
    known = known.select_related("before_snapshot", "after_snapshot")
    for row in known.order_by("id").iterator(chunk_size=CHUNK):
        try:
            before, after = (
                read_version_bytes(one) if one else None for one in (row.before_snapshot, row.after_snapshot)
            )
        except DamagedVersion:
            continue
        yield row, compute_change(before, after, row.target_file or "")


def find_open_intents(db: str) -> QuerySet[RollbackIntent]:
    """Rollbacks that were broken off: nobody finished or undid them."""
    now = clock.now_ms()
    is_old = Q(created_at__lt=now - OPEN_MS) | Q(created_at__gt=now + OPEN_MS)  # nobody works from the future
    return RollbackIntent.objects.using(db).filter(is_old, ended_at=None)


def find_wrong_statuses(db: str) -> QuerySet[WriteGuardianAudit]:
    """Writes whose status is not the last one of their history, or not what their rollback says."""
    rows = _with_last_status(db).alias(is_undone=Exists(Rollback.objects.using(db).filter(audit=OuterRef("id"))))
    is_other = Q(last=None) | ~Q(last=F("status"))
    # Rolled back as row and history say, and the rollback is gone: that is a loss, and no other status.
    return rows.filter(is_other | ~Q(status=Status.ROLLED_BACK) & Q(is_undone=True))


def _with_last_status(db):
    history = GuardianStatus.objects.using(db).filter(audit=OuterRef("id")).order_by("-created_at", "-id")
    return WriteGuardianAudit.objects.using(db).alias(last=Subquery(history.values("status")[:1]))


def mend_statuses(db: str) -> int:
    """Give each write the status that its rollback or history says, and its history that status as the last one."""
    ids = list(find_wrong_statuses(db).values_list("id", flat=True))
    for audit_id in ids:
        with write_queue.agent_transaction(db):
            _mend_status(db, audit_id)
    return len(ids)


def _mend_status(db, audit_id):
    audits = WriteGuardianAudit.objects.using(db).filter(id=audit_id)
    history = list(GuardianStatus.objects.using(db).filter(audit=audit_id).order_by("created_at", "id"))
    rollback = Rollback.objects.using(db).filter(audit=audit_id).first()
    row = audits.get()
    told = [one.status for one in history if one.status != Status.ROLLED_BACK]
    wanted = told[-1] if told else Status.WRITTEN if row.status == Status.ROLLED_BACK else row.status
    if rollback or (history and history[-1].status == Status.ROLLED_BACK):
        wanted = Status.ROLLED_BACK  # as a history that ends so says, also where its rollback is gone
    audits.update(status=wanted)
    if not history or history[-1].status != wanted:
        at = max([rollback.rolled_back_at if rollback else row.created_at, *(one.created_at for one in history)])
        said = {"given_by": rollback.rolled_back_by, "reason": rollback.reason} if rollback else {"given_by": ""}
        GuardianStatus.objects.using(db).create(audit_id=audit_id, status=wanted, created_at=at, **said)


def _find_ids(find):
    return lambda db: find(db).order_by("id").values_list("id", flat=True)


def _own_id(text):
    """The write that an intent is about to make."""
    return (RollbackIntent.told.decode(text).get("own_id"),)


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
        names=_own_id,
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
