"""Writes to memory files for tests, as a plugin reports them with both contents."""

from guardian import services
from guardian.models import Rollback, WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import CHANGED, FileChange, Report, Source

T0 = 1_770_000_000_000


def create_write(db: str, number: int, before: bytes | None, after: bytes | None, **columns) -> WriteGuardianAudit:
    """Store write `w<number>`, one second after the write with the previous number.

    A plugin reports no content of a refused write: instead, an import has seen the file a moment before.
    """
    defaults = {"session_id": "s1", "target_file": "MEMORY.md", "candidate_fact": "Likes tea.", "status": "written"}
    identity = {"id": f"w{number}", "created_at": T0 + number * 1000}
    row = WriteGuardianAudit(**(identity | defaults | columns))
    is_told = row.status in CHANGED
    if not is_told and before is not None:
        services.store_version(db, row.target_file, before, modified_ms=row.created_at - 1)
    change = FileChange(before, after) if is_told else None
    write_store.store_reports(db, [Report(row, Source.API, change, body_sha256="1", reporter="plugin")])
    return WriteGuardianAudit.objects.using(db).get(id=row.id)


def create_rollback(db: str, number: int, audit_ids: list[str], before: bytes, after: bytes, by: str = "mei") -> None:
    """Store the rollback `w<number>` of some writes, which are rolled back from then on."""
    own = create_write(db, number, before, after, origin="rollback", reason=f"Reason {number}.")
    for name in audit_ids:
        columns = {"rolled_back_at": own.created_at, "rolled_back_by": by, "reason": own.reason}
        columns |= {"previous_status": "written", "id": f"r{number}-{name}"}
        Rollback.objects.using(db).create(audit_id=name, own_audit_id=own.id, **columns)
        WriteGuardianAudit.objects.using(db).filter(id=name).update(status="rolled_back")


def share_diff(db: str, first: str, second: str) -> None:
    """Give two writes one shared diff, as if nobody had seen the file between them."""
    rows = WriteGuardianAudit.objects.using(db)
    WriteGuardianAudit.objects.using(db).filter(origin="unattributed").delete()
    first_row = rows.get(id=first)
    sides = {name: getattr(first_row, name) for name in ("before_snapshot", "after_snapshot", "diff", "hunks_json")}
    rows.filter(id__in=[first, second]).update(**sides, is_diff_shared=True)


def remove_unreported(db: str) -> None:
    """Remove the changes that no source reported, as if they had not been found yet."""
    WriteGuardianAudit.objects.using(db).filter(origin="unattributed").delete()
