"""Whose words a memory file holds: before it becomes a sample, every line of it leads to a turn that may be used."""

from collections.abc import Iterator, Sequence

from gate.recording import consent
from guardian.blame import blame
from guardian.changes import Hunk, hunks_of
from guardian.models import WriteGuardianAudit
from ledger.models import ConversationTurn
from openclaw_web.diffs.comparing import lines_of

LOOKED_AT = 1_000  # earlier writes of the file


def is_file_withheld(db: str, audit: WriteGuardianAudit) -> bool:
    """Whether the file before a write holds a line of somebody who opted out, or of which nobody knows who said it.

    So does the file after it where several writes share one diff: a line of that is of any of them. Nothing is withheld
    while nobody has opted out. Blank lines are nobody's.
    """
    if not consent.opted_out():
        return False
    writes = [audit] if audit.is_diff_shared else []
    if audit.before_snapshot is not None:
        lines = lines_of(audit.before_snapshot.content)
        earlier = _earlier(db, audit)
        found = blame(len(lines), [(row.id, hunks) for row, hunks in earlier])
        named = {name for name, line in zip(found, lines, strict=True) if line.strip()}
        if None in named:
            return True
        writes += [row for row, _hunks in earlier if row.id in named]
    writes = [one for row in writes for one in _with_its_diff(db, row)]
    if any(row.origin == WriteGuardianAudit.Origin.ROLLBACK for row in writes):  # what it brought back is another's
        return True
    turn_ids = {row.turn_id for row in writes}
    turns = list(ConversationTurn.objects.using(db).filter(id__in=[name for name in turn_ids if name]))
    return len(turns) < len(turn_ids) or bool(consent.withheld(db, turns))


def _with_its_diff(db, row) -> list[WriteGuardianAudit]:
    """A write and those that share its diff."""
    if not row.is_diff_shared:
        return [row]
    sides = {name: getattr(row, name) for name in ("target_file", "before_snapshot_id", "after_snapshot_id")}
    rows = WriteGuardianAudit.objects.using(db).filter(**sides, is_diff_shared=True)
    return list(rows.defer("diff", "hunks_json"))


def _earlier(db, audit) -> Sequence[tuple[WriteGuardianAudit, Sequence[Hunk]]]:
    """The writes that led to the file as it was, the newest first, as far as one follows from the other."""
    return list(_chained(db, audit))


def _chained(db, audit) -> Iterator[tuple[WriteGuardianAudit, Sequence[Hunk]]]:
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=audit.target_file, created_at__lte=audit.created_at)
    rows = rows.exclude(id=audit.id).exclude(hunks_json=None).select_related("before_snapshot", "after_snapshot")
    rows = rows.defer("diff", "before_snapshot__content", "after_snapshot__content", "before_snapshot__raw")
    hash_then = audit.before_snapshot.content_hash
    for row in rows.order_by("-created_at")[:LOOKED_AT]:
        if row.after_snapshot is None or row.after_snapshot.content_hash != hash_then:
            return
        yield row, hunks_of(row.hunks_json)
        if row.before_snapshot is None:
            return
        hash_then = row.before_snapshot.content_hash
