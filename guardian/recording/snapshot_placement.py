"""Where the two sides of a write belong among the versions of a file: beside what a collect saw, or as new ones."""

from dataclasses import dataclass

from django.db.models import F, Q

from .. import services
from ..models import RollbackIntent, WriteGuardianAudit
from . import sql
from .reports import FileChange, Origin, Source
from .sql import Snapshot

NEAR_MS = 10_000  # between a write and the moment its file says it was modified


@dataclass(frozen=True, slots=True)
class Placement:
    """The versions of both sides; None: there was no file. `is_news`: other changes of the file follow from them."""

    before: Snapshot | None
    after: Snapshot | None
    is_news: bool = False


def place_snapshots(db: str, name: str, change: FileChange, at: int) -> Placement:
    """The versions of a write of the moment `at`, in the caller's transaction. What is there is used, not doubled."""
    last = sql.find_last_snapshot(db, name, at)
    if change.before == change.after and change.after is not None:
        return _unchanged(db, name, change, last, at)
    if seen := _seen(db, name, change, at):
        return seen
    before = _before(db, name, change, last, at)
    is_unseen = last is not None and before is not None and before.id != last.id
    newest = max(at, before.created_at if before else 0)
    is_news = is_unseen or sql.has_newer_snapshot(db, name, newest)
    if change.after is None:
        return Placement(before, None, is_news)
    if before is not None and before.content_hash == change.hashes[1]:
        return Placement(before, before, is_news)
    moment = at if before is None else max(at, before.created_at + 1)
    return Placement(before, _added(db, name, change.after, moment), is_news)


def _unchanged(db, name, change, last, at):
    """The version of a write that changed nothing, which leads to none."""
    if last is not None and last.content_hash == change.hashes[1]:
        return Placement(last, last)
    if found := sql.find_equal_snapshots(db, name, change.hashes[1], since=at + 1, until=at + NEAR_MS):
        return Placement(found[0], found[0])
    version = _added(db, name, change.after, at)
    return Placement(version, version, is_news=True)


def _seen(db, name, change, at):
    """A version that a collect saw with what was written, where no other write is known to have led to it."""
    if change.after is None:
        return None
    found = sql.find_equal_snapshots(db, name, change.hashes[1], since=at - NEAR_MS, until=at + NEAR_MS)
    for after in sorted(found, key=lambda version: abs(version.created_at - at)):
        before = sql.find_previous_snapshot(db, name, after)
        if change.hashes[0] == (before.content_hash if before else None):
            if not _is_taken(db, after, also_as_before=False):
                return Placement(before, after, is_news=True)
        elif not _is_taken(db, after, also_as_before=True):
            if change.before is None:
                return Placement(None, after, is_news=True)
            if before is None or before.created_at < after.created_at - 1:
                told = _added(db, name, change.before, after.created_at - 1)
                return Placement(told, after, is_news=True)
    return None


def _before(db, name, change, last, at):
    if change.before is None:
        return None
    if last is not None and last.content_hash == change.hashes[0]:
        return last
    moment = at - 1 if last is None else max(at - 1, last.created_at + 1)
    return _added(db, name, change.before, moment)


def _is_taken(db, version, *, also_as_before):
    """Whether a write or a rollback of ours is known to have led to a version (or away from it)."""
    sides = Q(after_snapshot=version.id)
    if also_as_before:
        sides |= Q(before_snapshot=version.id)
    changed = ~Q(before_snapshot=F("after_snapshot")) | Q(before_snapshot=None)
    writes = WriteGuardianAudit.objects.using(db).filter(sides, changed).exclude(origin=Origin.UNATTRIBUTED)
    if any(not sources & Source.FILES for sources in writes.values_list("sources", flat=True)):
        return True
    return RollbackIntent.objects.using(db).filter(after_snapshot=version.id).exists()


def _added(db, name, data, moment):
    """A version of this moment, among those that are there; the same one where it is there already."""
    row = services.build_snapshot(name, data, moment=moment)
    sql.insert_rows(db, [row])
    return Snapshot(row.id, row.created_at, row.content_hash)
