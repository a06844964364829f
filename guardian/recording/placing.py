"""Where the two sides of a write belong among the versions of a file: beside what a collect saw, or as new ones."""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q

from .. import services
from ..models import FileSnapshot, RollbackIntent, WriteGuardianAudit
from .told import FileChange, Origin, Source

NEAR_MS = 10_000  # between a write and the moment its file says it was modified
ORDER = ("created_at", "id")


@dataclass(frozen=True, slots=True)
class Placed:
    """The versions of both sides; None: there was no file. `is_news`: other changes of the file follow from them."""

    before: FileSnapshot | None
    after: FileSnapshot | None
    is_news: bool = False


def place(db: str, name: str, change: FileChange, at: int) -> Placed:
    """The versions of a write of the moment `at`, in the caller's transaction. What is there is used, not doubled."""
    last = _last(db, name, Q(created_at__lte=at))
    if change.before == change.after and change.after is not None:
        return _unchanged(db, name, change.after, last, at)
    if seen := _seen(db, name, change, at):
        return seen
    before = _before(db, name, change.before, last, at)
    is_unseen = last is not None and before is not None and before.id != last.id
    newest = max(at, before.created_at if before else 0)
    is_news = is_unseen or services.versions(db, name).filter(created_at__gt=newest).exists()
    if change.after is None:
        return Placed(before, None, is_news)
    if before is not None and before.content_hash == _hash(change.after):
        return Placed(before, before, is_news)
    moment = at if before is None else max(at, before.created_at + 1)
    return Placed(before, services.add_version(db, name, change.after, moment=moment), is_news)


def _unchanged(db, name, data, last, at):
    """The version of a write that changed nothing, which leads to none."""
    if last is not None and last.content_hash == _hash(data):
        return Placed(last, last)
    near = services.versions(db, name).filter(created_at__gt=at, created_at__lte=at + NEAR_MS)
    found = near.filter(content_hash=_hash(data)).defer("content", "raw").order_by(*ORDER).first()
    if found is not None:
        return Placed(found, found)
    version = services.add_version(db, name, data, moment=at)
    return Placed(version, version, is_news=True)


def _seen(db, name, change, at):
    """A version that a collect saw with what was written, where no other write is known to have led to it."""
    if change.after is None:
        return None
    near = services.versions(db, name).filter(created_at__gte=at - NEAR_MS, created_at__lte=at + NEAR_MS)
    found = near.filter(content_hash=_hash(change.after)).defer("content", "raw")
    for after in sorted(found, key=lambda version: abs(version.created_at - at)):
        before = _last(db, name, Q(created_at__lt=after.created_at) | Q(created_at=after.created_at, id__lt=after.id))
        if _hash(change.before) == (before.content_hash if before else None):
            if not _is_taken(db, after, also_as_before=False):
                return Placed(before, after, is_news=True)
        elif not _is_taken(db, after, also_as_before=True):
            if change.before is None:
                return Placed(None, after, is_news=True)
            if before is None or before.created_at < after.created_at - 1:
                told = services.add_version(db, name, change.before, moment=after.created_at - 1)
                return Placed(told, after, is_news=True)
    return None


def _before(db, name, data, last, at):
    if data is None:
        return None
    if last is not None and last.content_hash == _hash(data):
        return last
    moment = at - 1 if last is None else max(at - 1, last.created_at + 1)
    return services.add_version(db, name, data, moment=moment)


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


def _last(db, name, condition: Q) -> Any:
    rows = services.versions(db, name).filter(condition).defer("content", "raw")
    return rows.order_by(*ORDER).last()


def _hash(data):
    return None if data is None else hashlib.sha256(data).hexdigest()
