"""Matches writes to the snapshots of a file that imports saw, and finds unattributed changes.

A reported write without snapshots lies between the two snapshots around its time. Where no reported write lies between
two snapshots, something else changed the file: that is a write of its own, `unattributed`. The stored rows follow from
snapshots and reported writes alone, in whichever order these came.
"""

from dataclasses import dataclass, field

from openclaw_web.sqlite import write_queue

from ..changes import Change, ChangeCache, compute_change
from ..file_bytes import DamagedVersion, read_version_bytes
from ..models import FileSnapshot, WriteGuardianAudit
from . import shared_workspace, snapshot_pairs, unattributed_changes
from .reports import Source, build_change_columns
from .snapshot_pairs import SnapshotPair


@dataclass(slots=True)
class MatchResult:
    """The result of a match: matched writes, and new and removed unattributed changes."""

    attached: int = 0
    unattributed: int = 0
    withdrawn: int = 0  # unattributed changes that were removed, since they are explained now


@dataclass(slots=True)
class _Diffs:
    """Diffs between snapshots, each computed once, and before the write lock where possible."""

    db: str
    name: str
    changes: ChangeCache = field(default_factory=ChangeCache)

    def get(self, before: str | None, after: str) -> Change | None:
        """Return the change between two snapshots; None where one lacks bytes."""
        sides = tuple(snapshot_id and _parse_hash(snapshot_id) for snapshot_id in (before, after))
        return self.changes.get(self.name, sides, lambda: self._compute((before, after)))

    def _compute(self, pair):
        versions = FileSnapshot.objects.using(self.db).in_bulk([snapshot_id for snapshot_id in pair if snapshot_id])
        try:
            old, new = (read_version_bytes(versions[snapshot_id]) if snapshot_id else None for snapshot_id in pair)
        except DamagedVersion:
            return None
        return compute_change(old, new, versions[pair[1]].file_name)


def _parse_hash(version_id):
    """Return the hash in the id of a snapshot; the id where it has none."""
    parts = version_id.rsplit("@", 2)
    return parts[1] if len(parts) == 3 and len(parts[1]) == 32 else version_id


def match_snapshots(db: str, name: str, *, since: int = 0) -> MatchResult:
    """Match the writes of a file to its snapshots, from the moment `since` on.

    A second run changes nothing.
    """
    diffs = _Diffs(db, name)
    pairs = snapshot_pairs.read_snapshot_pairs(db, name, since).pairs
    shared_workspace.mark_shared_changes(db, name, pairs)
    rows = unattributed_changes.find_rows(db, name, pairs)
    for pair in pairs:  # the slow part, before the write lock
        if _is_new(pair, rows):
            diffs.get(pair.before, pair.after)
    with write_queue.agent_transaction(db):
        return match_in_transaction(db, name, since=since, changes=diffs.changes)


def match_in_transaction(db: str, name: str, *, since: int = 0, changes: ChangeCache | None = None) -> MatchResult:
    """Match the writes of a file in the caller's transaction.

    `changes` are diffs that were computed before.
    """
    diffs, result = _Diffs(db, name, changes or ChangeCache()), MatchResult()
    file_pairs = snapshot_pairs.read_snapshot_pairs(db, name, since)
    shared_workspace.mark_shared_changes(db, name, file_pairs.pairs)
    rows = unattributed_changes.find_rows(db, name, file_pairs.pairs)
    for pair in file_pairs.pairs:
        is_shared = len(pair.inexact_writes) + pair.is_unattributed > 1
        for write in pair.inexact_writes:
            result.attached += _attach(db, write, pair, diffs, is_shared=is_shared)
        unattributed_changes.sync_row(db, name, pair, rows, diffs.get, result, is_shared=is_shared)
    for write in file_pairs.detached:
        _detach(db, write)
    unattributed_changes.remove_stale_rows(db, file_pairs.pairs, rows, result)
    return result


def _is_new(pair, rows):
    """Return whether a pair needs a diff that is not stored yet."""
    is_attached = all((write.before, write.after) == (pair.before, pair.after) for write in pair.inexact_writes)
    return not is_attached or (pair.is_unattributed and unattributed_changes.compute_change_id(pair.after) not in rows)


def _attach(db, write: snapshot_pairs.Write, pair: SnapshotPair, diffs, *, is_shared):
    """Give a reported write the snapshots around it; return whether that is new."""
    is_same = (write.before, write.after, write.is_shared) == (pair.before, pair.after, is_shared)
    if is_same and write.sources & Source.FILES:
        return 0
    columns = {"before_snapshot": pair.before, "after_snapshot": pair.after, "is_diff_shared": is_shared}
    columns["sources"] = write.sources | Source.FILES
    columns |= build_change_columns(diffs.get(pair.before, pair.after))
    WriteGuardianAudit.objects.using(db).filter(id=write.id).update(**columns)
    return int(write.after is None)


def _detach(db, write):
    columns = {"before_snapshot": None, "after_snapshot": None, "is_diff_shared": False}
    columns["sources"] = write.sources & ~Source.FILES
    WriteGuardianAudit.objects.using(db).filter(id=write.id).update(**columns, **build_change_columns(None))


def match_new_snapshots(db: str, name: str) -> MatchResult:
    """Match from the first snapshot that no write leads to, or that another agent explains now."""
    moments = (snapshot_pairs.find_unmatched_since(db, name), shared_workspace.find_explained_since(db, name))
    since = min((at for at in moments if at is not None), default=None)
    return MatchResult() if since is None else match_snapshots(db, name, since=since)
