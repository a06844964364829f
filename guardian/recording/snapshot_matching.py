"""Which writes led to the versions of a memory file that a collect saw, and the changes that nobody told of.

A told write without versions lies between the two versions around its time. Where no told write lies between two
versions, something else changed the file: a write of its own, `unattributed`. What is stored follows from versions and
told writes alone, in whichever order they came.
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
    """What came of it: writes that got versions, and changes that nobody told of, new and gone."""

    attached: int = 0
    unattributed: int = 0
    withdrawn: int = 0  # of them, those that somebody told of since


@dataclass(slots=True)
class _Diffs:
    """Diffs between versions, each made once: while nobody is held up, as far as possible."""

    db: str
    name: str
    changes: ChangeCache = field(default_factory=ChangeCache)

    def of(self, before: str | None, after: str) -> Change | None:
        """None where a version lacks bytes."""
        sides = tuple(one and _content_in(one) for one in (before, after))
        return self.changes.get(self.name, sides, lambda: self._made((before, after)))

    def _made(self, pair):
        versions = FileSnapshot.objects.using(self.db).in_bulk([one for one in pair if one])
        try:
            old, new = (read_version_bytes(versions[one]) if one else None for one in pair)
        except DamagedVersion:
            return None
        return compute_change(old, new, versions[pair[1]].file_name)


def _content_in(version_id):
    """What a version holds, as its id says it; else the id."""
    parts = version_id.rsplit("@", 2)
    return parts[1] if len(parts) == 3 and len(parts[1]) == 32 else version_id


def match_snapshots(db: str, name: str, *, since: int = 0) -> MatchResult:
    """Bring the writes of a file in line with its versions, from the moment `since` on. Doing it twice does no harm."""
    diffs = _Diffs(db, name)
    found = snapshot_pairs.read_snapshot_pairs(db, name, since).pairs
    shared_workspace.mark_shared_changes(db, name, found)
    rows = unattributed_changes.find_rows(db, name, found)
    for gap in found:  # what takes long, before anybody waits for us
        if _is_new(gap, rows):
            diffs.of(gap.before, gap.after)
    with write_queue.agent_transaction(db):
        return match_in_transaction(db, name, since=since, changes=diffs.changes)


def match_in_transaction(db: str, name: str, *, since: int = 0, changes: ChangeCache | None = None) -> MatchResult:
    """The same in the caller's transaction; `changes` are those that were made before."""
    diffs, settled = _Diffs(db, name, changes or ChangeCache()), MatchResult()
    course = snapshot_pairs.read_snapshot_pairs(db, name, since)
    shared_workspace.mark_shared_changes(db, name, course.pairs)
    rows = unattributed_changes.find_rows(db, name, course.pairs)
    for gap in course.pairs:
        shared = len(gap.loose) + gap.is_unannounced > 1
        for write in gap.loose:
            settled.attached += _attach(db, write, gap, diffs, is_shared=shared)
        unattributed_changes.sync_row(db, name, gap, rows, diffs.of, settled, is_shared=shared)
    for write in course.detached:
        _detach(db, write)
    unattributed_changes.remove_stale_rows(db, course.pairs, rows, settled)
    return settled


def _is_new(gap, rows):
    """Whether somebody needs the diff of a gap that does not have it yet."""
    is_attached = all((write.before, write.after) == (gap.before, gap.after) for write in gap.loose)
    return not is_attached or (gap.is_unannounced and unattributed_changes.compute_change_id(gap.after) not in rows)


def _attach(db, write: snapshot_pairs.Write, gap: SnapshotPair, diffs, *, is_shared):
    """Give a told write the versions that it lies between; whether that is new."""
    is_same = (write.before, write.after, write.is_shared) == (gap.before, gap.after, is_shared)
    if is_same and write.sources & Source.FILES:
        return 0
    columns = {"before_snapshot": gap.before, "after_snapshot": gap.after, "is_diff_shared": is_shared}
    columns["sources"] = write.sources | Source.FILES
    columns |= build_change_columns(diffs.of(gap.before, gap.after))
    WriteGuardianAudit.objects.using(db).filter(id=write.id).update(**columns)
    return int(write.after is None)


def _detach(db, write):
    columns = {"before_snapshot": None, "after_snapshot": None, "is_diff_shared": False}
    columns["sources"] = write.sources & ~Source.FILES
    WriteGuardianAudit.objects.using(db).filter(id=write.id).update(**columns, **build_change_columns(None))


def match_new_snapshots(db: str, name: str) -> MatchResult:
    """The same from the first version on that no write leads to yet, or that another agent told of since."""
    moments = (snapshot_pairs.find_unmatched_since(db, name), shared_workspace.find_explained_since(db, name))
    since = min((at for at in moments if at is not None), default=None)
    return MatchResult() if since is None else match_snapshots(db, name, since=since)
