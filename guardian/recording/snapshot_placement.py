"""Places both sides of a write among the snapshots of a file.

Snapshots that an import saw are used; missing ones are added.
"""

from dataclasses import dataclass

from django.db.models import F, Q

from .. import services
from ..models import RollbackIntent, WriteGuardianAudit
from . import sql
from .reports import FileChange, Origin, Source
from .sql import Snapshot

NEAR_MS = 10_000  # between a write and the modification time of its file


@dataclass(frozen=True, slots=True)
class Placement:
    """The snapshots of both sides of a write; None: there was no file.

    `is_news`: other changes of the file have to be matched again.
    """

    before: Snapshot | None
    after: Snapshot | None
    is_news: bool = False


def place_snapshots(db: str, name: str, change: FileChange, at: int) -> Placement:
    """Return the snapshots of a write at the moment `at`, in the caller's transaction.

    Existing snapshots are used, not duplicated.
    """
    last = sql.find_last_snapshot(db, name, at)
    if change.before == change.after and change.after is not None:
        return _place_unchanged(db, name, change, last, at)
    if seen_placement := _place_on_seen(db, name, change, at):
        return seen_placement
    before = _find_before(db, name, change, last, at)
    is_unseen = last is not None and before is not None and before.id != last.id
    newest = max(at, before.created_at if before else 0)
    is_news = is_unseen or sql.has_newer_snapshot(db, name, newest)
    if change.after is None:
        return Placement(before, None, is_news)
    if before is not None and before.content_hash == change.hashes[1]:
        return Placement(before, before, is_news)
    moment = at if before is None else max(at, before.created_at + 1)
    return Placement(before, _add_snapshot(db, name, change.after, moment), is_news)


def _place_unchanged(db, name, change, last, at):
    """Place a write that changed nothing on one snapshot."""
    if last is not None and last.content_hash == change.hashes[1]:
        return Placement(last, last)
    if snapshots := sql.find_equal_snapshots(db, name, change.hashes[1], since=at + 1, until=at + NEAR_MS):
        return Placement(snapshots[0], snapshots[0])
    snapshot = _add_snapshot(db, name, change.after, at)
    return Placement(snapshot, snapshot, is_news=True)


def _place_on_seen(db, name, change, at):
    """Place a write on a snapshot that an import saw, unless another write led to it."""
    if change.after is None:
        return None
    snapshots = sql.find_equal_snapshots(db, name, change.hashes[1], since=at - NEAR_MS, until=at + NEAR_MS)
    for after in sorted(snapshots, key=lambda snapshot: abs(snapshot.created_at - at)):
        before = sql.find_previous_snapshot(db, name, after)
        if change.hashes[0] == (before.content_hash if before else None):
            if not _is_taken(db, after, also_as_before=False):
                return Placement(before, after, is_news=True)
        elif not _is_taken(db, after, also_as_before=True):
            if change.before is None:
                return Placement(None, after, is_news=True)
            if before is None or before.created_at < after.created_at - 1:
                added = _add_snapshot(db, name, change.before, after.created_at - 1)
                return Placement(added, after, is_news=True)
    return None


def _find_before(db, name, change, last, at):
    if change.before is None:
        return None
    if last is not None and last.content_hash == change.hashes[0]:
        return last
    moment = at - 1 if last is None else max(at - 1, last.created_at + 1)
    return _add_snapshot(db, name, change.before, moment)


def _is_taken(db, snapshot, *, also_as_before):
    """Return whether a write or rollback is known to have led to a snapshot.

    With `also_as_before`, or away from it.
    """
    sides = Q(after_snapshot=snapshot.id)
    if also_as_before:
        sides |= Q(before_snapshot=snapshot.id)
    changed = ~Q(before_snapshot=F("after_snapshot")) | Q(before_snapshot=None)
    writes = WriteGuardianAudit.objects.using(db).filter(sides, changed).exclude(origin=Origin.UNATTRIBUTED)
    if any(not sources & Source.FILES for sources in writes.values_list("sources", flat=True)):
        return True
    return RollbackIntent.objects.using(db).filter(after_snapshot=snapshot.id).exists()


def _add_snapshot(db, name, data, moment):
    """Add a snapshot of this moment; the same one where it exists already."""
    row = services.build_snapshot(name, data, moment=moment)
    sql.insert_rows(db, [row])
    return Snapshot(row.id, row.created_at, row.content_hash)
