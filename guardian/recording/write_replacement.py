"""Replaces the row of a write by another one.

What people did about the old row, and its earlier ids, go to the new row.
"""

from ..models import BehaviorCorrection, GuardianReceipt, GuardianStatus, Rollback, RollbackIntent, WriteGuardianAudit
from . import sql
from .reports import Status


def may_replace(db: str, old_id: str, new_id: str) -> bool:
    """Return whether `new_id` can replace `old_id`.

    Not while `old_id` is being rolled back, nor when both were rolled back.
    """
    if is_being_rolled_back(db, old_id):
        return False
    return Rollback.objects.using(db).filter(audit__in=[old_id, new_id]).count() < 2


def is_being_rolled_back(db: str, audit_id: str) -> bool:
    """Return whether a rollback of a write is under way, or was interrupted.

    Until it has ended, the write stays. Raises ValueError where an intent does not say which writes it is about.
    """
    waiting = RollbackIntent.objects.using(db).filter(ended_at=None).values_list("audits_json", flat=True)
    return any(audit_id in RollbackIntent.audits.decode_strictly(text) for text in waiting)


def replace_write(db: str, old: WriteGuardianAudit, new: WriteGuardianAudit) -> None:
    """Give the stored row `new` everything that refers to `old`, and remove `old`.

    The old id leads to the new row. The caller holds a transaction. The values of `new` stay, but for a status that
    people gave.
    """
    is_plain = old.status != Status.ROLLED_BACK and old.rule_id is None and old.retry_of is None
    if is_plain and not sql.is_acted_on(db, old.id):  # the usual case, fast: a plugin waits
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
    """Return the id of the current row of a write: its row may have been replaced."""
    if WriteGuardianAudit.objects.using(db).filter(id=audit_id).exists():
        return audit_id
    new_id = GuardianReceipt.objects.using(db).filter(id=audit_id).values_list("audit_id", flat=True).first()
    return new_id or audit_id
