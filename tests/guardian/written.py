"""Writes to memory files for tests: told as a plugin tells them, with what the file held before and after."""

from guardian import services
from guardian.models import Rollback, WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import CHANGED, FileChange, Report, Source

T0 = 1_770_000_000_000


def wrote(db: str, number: int, before: bytes | None, after: bytes | None, **columns) -> WriteGuardianAudit:
    """Write `w<number>`, a second after the one with the number before it.

    Of one that was refused a plugin tells no content: an import has seen the file a moment before.
    """
    told = {"session_id": "s1", "target_file": "MEMORY.md", "candidate_fact": "Likes tea.", "status": "written"}
    named = {"id": f"w{number}", "created_at": T0 + number * 1000}
    row = WriteGuardianAudit(**(named | told | columns))
    is_told = row.status in CHANGED
    if not is_told and before is not None:
        services.store_version(db, row.target_file, before, modified_ms=row.created_at - 1)
    change = FileChange(before, after) if is_told else None
    write_store.store_reports(db, [Report(row, Source.API, change, body_sha256="1", told_by="plugin")])
    return WriteGuardianAudit.objects.using(db).get(id=row.id)


def took_back(db: str, number: int, taken: list[str], before: bytes, after: bytes, by: str = "mei") -> None:
    """The rollback `w<number>`, which took these writes back: each is rolled back then."""
    own = wrote(db, number, before, after, origin="rollback", reason=f"Reason {number}.")
    for name in taken:
        told = {"rolled_back_at": own.created_at, "rolled_back_by": by, "reason": own.reason}
        told |= {"previous_status": "written", "id": f"r{number}-{name}"}
        Rollback.objects.using(db).create(audit_id=name, own_audit_id=own.id, **told)
        WriteGuardianAudit.objects.using(db).filter(id=name).update(status="rolled_back")


def share(db: str, first: str, second: str) -> None:
    """Two writes as they are when nobody saw the file between them: with one diff."""
    rows = WriteGuardianAudit.objects.using(db)
    WriteGuardianAudit.objects.using(db).filter(origin="unattributed").delete()
    one = rows.get(id=first)
    sides = {name: getattr(one, name) for name in ("before_snapshot", "after_snapshot", "diff", "hunks_json")}
    rows.filter(id__in=[first, second]).update(**sides, is_diff_shared=True)


def untold(db: str) -> None:
    """Forget the changes that nobody told of, as if they had not been found yet."""
    WriteGuardianAudit.objects.using(db).filter(origin="unattributed").delete()
