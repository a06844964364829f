"""One write takes the place of another row: all that people did about it, and the ids it was known by, go along."""

from ..models import BehaviorCorrection, GuardianReceipt, GuardianStatus, Rollback, RollbackIntent, WriteGuardianAudit
from . import sql
from .reports import Status


def may_replace(db: str, old_id: str, new_id: str) -> bool:
    """Whether `new_id` can take the place of `old_id`: not while that is being rolled back, nor when both were rolled
    back."""
    if is_being_rolled_back(db, old_id):
        return False
    return Rollback.objects.using(db).filter(audit__in=[old_id, new_id]).count() < 2


def is_being_rolled_back(db: str, audit_id: str) -> bool:
    """Whether a rollback of a write is under way, or broke off and is to be ended: until then the write stays.

    Raises ValueError where an intent does not say which writes it is about.
    """
    waiting = RollbackIntent.objects.using(db).filter(ended_at=None).values_list("audits_json", flat=True)
    return any(audit_id in RollbackIntent.audits.decode_strictly(text) for text in waiting)


def replace_write(db: str, old: WriteGuardianAudit, new: WriteGuardianAudit) -> None:
    """Let `new`, which is stored, have what hangs on `old`, which goes; asked for by its old id, it is found.

    Call it in a transaction. What is told of `new` stays, but for a status that people gave.
    """
    is_plain = old.status != Status.ROLLED_BACK and old.rule_id is None and old.retry_of is None
    if is_plain and not sql.is_acted_on(db, old.id):  # as most are: a plugin waits
        sql.delete_write(db, old.id)
        sql.insert_rows(db, [GuardianReceipt(id=old.id, audit_id=new.id, body_sha256="")])
        return
    rows = {"using": db}
    given = GuardianStatus.objects.using(db).filter(audit=old.id).order_by("created_at", "id")
    given.exclude(id=given.values_list("id", flat=True).first()).update(audit=new.id)  # the first is of the row itself
    Rollback.objects.using(db).filter(audit=old.id).update(audit=new.id)
    if old.status == Status.ROLLED_BACK:
        new.status = Status.ROLLED_BACK
    Rollback.objects.using(db).filter(own_audit=old.id).update(own_audit=new.id)
    BehaviorCorrection.objects.using(db).filter(audit=old.id).update(audit=new.id)
    audits = WriteGuardianAudit.objects.using(db)
    audits.filter(retry_of=old.id).update(retry_of=new.id)
    new.rule_id, new.retry_of = new.rule_id or old.rule_id, new.retry_of or old.retry_of
    new.save(update_fields=["status", "rule_id", "retry_of"], **rows)
    GuardianReceipt.objects.using(db).filter(audit_id=old.id).update(audit_id=new.id)
    GuardianReceipt.objects.using(db).get_or_create(id=old.id, defaults={"audit_id": new.id, "body_sha256": ""})
    audits.filter(id=old.id).delete()


def find_current_id(db: str, audit_id: str) -> str:
    """The id of the row that a write has by now: another source may have told more of it."""
    if WriteGuardianAudit.objects.using(db).filter(id=audit_id).exists():
        return audit_id
    found = GuardianReceipt.objects.using(db).filter(id=audit_id).values_list("audit_id", flat=True).first()
    return found or audit_id
