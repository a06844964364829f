"""The snapshots of a memory file in pairs, with the writes between each pair.

This module only reads.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from django.db.models import Exists, F, OuterRef, Q

from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import encode

from .. import services
from ..fact_evidence import Evidence, read_facts
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
        if last is not None and last.content_hash == change.hashes[1]:
            return Placement(last, last)
        if snapshots := sql.find_equal_snapshots(db, name, change.hashes[1], since=at + 1, until=at + NEAR_MS):
            return Placement(snapshots[0], snapshots[0])
        snapshot = _add_snapshot(db, name, change.after, at)
        return Placement(snapshot, snapshot, is_news=True)
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


EARLY_MS = 50  # a write is reported after its file was modified; file times are coarse
LATE_MS = 1_000  # between the modification of a file and the line that reports it
QUIET_MS = 60_000  # a file that is modified this long after the last reported write has another writer
CONTEXT = 5  # extra earlier snapshots: writes near the first ones may belong among these
State = RollbackIntent.State


@dataclass(frozen=True, slots=True)
class Write:
    """A write with what is needed to place it."""

    id: str
    at: int
    before: str | None
    after: str | None
    sources: int
    is_shared: bool
    origin: str

    @property
    def is_inexact(self) -> bool:
        """Whether no source says what the file held: its snapshots follow from its time."""
        has_sides = self.before is not None or self.after is not None or self.sources & Source.ELSEWHERE
        return self.origin != Origin.UNATTRIBUTED and (not has_sides or bool(self.sources & Source.FILES))

    @property
    def has_exact_sides(self) -> bool:
        """Whether a source says what the file held."""
        return not self.is_inexact and self.origin != Origin.UNATTRIBUTED


@dataclass(slots=True)
class SnapshotPair:
    """Two snapshots in a row, and what is known of the change between them.

    `before` is None where there was no file. `is_owned`: a source reported exactly this change, or a rollback made it.
    """

    before: str | None
    after: str
    at: int
    earliest_at: int
    is_same: bool
    is_owned: bool = False
    owner: str | None = None
    inexact_writes: list[Write] = field(default_factory=list)
    is_of_another: bool = False  # a known write of another agent of the workspace made the change

    @property
    def is_unattributed(self) -> bool:
        """Whether something changed the file without a report, alone or after all reported writes."""
        if self.is_owned or self.is_same or self.is_of_another:
            return False
        return not self.inexact_writes or self.at - self.inexact_writes[-1].at > QUIET_MS

    @property
    def since(self) -> int:
        """The earliest moment of the unattributed change, in milliseconds."""
        return max([self.earliest_at, *(write.at for write in self.inexact_writes)])


@dataclass(slots=True)
class SnapshotPairs:
    """The snapshot pairs of a file, oldest first, and its detached writes.

    Detached writes have snapshots by their time, but lie in no pair.
    """

    pairs: list[SnapshotPair] = field(default_factory=list)
    detached: list[Write] = field(default_factory=list)


@dataclass(slots=True)
class Candidates:
    """The changes that a write may have made: the one at its time, and near ones.

    Near ones lie within NEAR_MS.
    """

    write: Write
    by_time: SnapshotPair | None
    near: list[SnapshotPair] = field(default_factory=list)


def read_snapshot_pairs(db: str, name: str, since: int = 0) -> SnapshotPairs:
    """Read the snapshot pairs of a file from shortly before `since` on.

    They begin as early as a snapshot of that moment matters.
    """
    first_at = since - NEAR_MS - LATE_MS
    versions, busy = _read_snapshots(db, name, first_at)
    if not versions:
        return SnapshotPairs()
    pairs, writes = _build_pairs(db, name, versions, busy, versions[0].created_at - LATE_MS)
    inexact_writes = [write for write in writes if write.is_inexact and write.at >= versions[0].created_at - LATE_MS]
    candidate_list = _find_candidates(inexact_writes, pairs, versions[0])
    facts = read_facts(db, [candidates.write.id for candidates in candidate_list if candidates.near])
    evidence = Evidence(db)
    for candidates in candidate_list:
        fitting = _find_fitting(evidence, facts.get(candidates.write.id, ""), candidates)
        pair = fitting[0] if fitting else candidates.by_time
        if pair and len(fitting) < 2:
            pair.inexact_writes.append(candidates.write)
    start = max(sum(version.created_at < first_at for version in versions) - 2, 0)
    return SnapshotPairs(pairs[start:], _find_detached(inexact_writes, pairs, start))


def is_ambiguous(db: str, row: WriteGuardianAudit) -> bool:
    """Return whether a write has no snapshots because several near changes added its fact."""
    name, at = row.target_file or "", row.created_at
    versions, busy = _split_by_intent(db, sql.read_snapshots_around(db, name, at + EARLY_MS, count=3))
    if len(versions) < 2:
        return False
    pairs, _writes = _build_pairs(db, name, versions, busy, at + 1)
    write = Write(row.id, at, None, None, row.sources, False, row.origin)
    return (
        len(_find_fitting(Evidence(db), row.candidate_fact or "", _find_candidates([write], pairs, versions[0])[0])) > 1
    )


def _build_pairs(db, name, versions, busy, since) -> tuple[list[SnapshotPair], list[Write]]:
    """Return the pairs of these snapshots, and the writes that led to them.

    The writes include those since a moment that no source placed exactly.
    """
    rows = sql.read_writes(db, name, [version.id for version in versions], since)
    writes = [Write(*row) for row in rows]
    ends = {write.after: write.id for write in writes if write.has_exact_sides and write.before != write.after}
    removed = {
        write.before
        for write in writes
        if write.after is None and write.before is not None and not write.sources & Source.FILES
    }
    pairs = []
    for before, after in pairwise(versions):
        is_new = before.id in removed
        is_same = not is_new and before.content_hash == after.content_hash
        pair = SnapshotPair(None if is_new else before.id, after.id, after.created_at, before.created_at, is_same)
        pair.owner = ends.get(after.id)
        pair.is_owned = pair.owner is not None or after.id in busy
        pairs.append(pair)
    return pairs, writes


def _read_snapshots(db, name, since) -> tuple[list[Snapshot], set[str]]:
    """Return the snapshots of a file from before `since` on, and those being written.

    The first snapshot is the last one before `since`. Snapshots that a rollback prepared and never wrote are left out.
    A rollback of this site is writing the second ones: its own write is reported once it is done.
    """
    return _split_by_intent(db, sql.read_snapshots(db, name, since, context=CONTEXT))


def _split_by_intent(db, snapshots) -> tuple[list[Snapshot], set[str]]:
    # Of open rollbacks, by the snapshot that each writes.
    states = dict(statements.read_rows(db, sql.INTENTS, [encode([version.id for version in snapshots])]))
    never = _find_never_written(db, {name for name, state in states.items() if state != State.EXCHANGED})
    busy = {name for name, state in states.items() if state == State.EXCHANGED}
    return [version for version in snapshots if version.id not in never], busy


def _find_never_written(db, planned):
    if not planned:
        return planned
    reported_writes = WriteGuardianAudit.objects.using(db).filter(
        Q(after_snapshot__in=planned) | Q(before_snapshot__in=planned)
    )
    reported_writes = reported_writes.exclude(origin=Origin.UNATTRIBUTED)
    sides = reported_writes.values_list("before_snapshot_id", "after_snapshot_id", "sources")
    return planned - {
        side for before, after, sources in sides if not sources & Source.FILES for side in (before, after)
    }


def _find_candidates(
    inexact_writes: Sequence[Write], pairs: Sequence[SnapshotPair], first: Snapshot
) -> list[Candidates]:
    """Return for each inexact write the pair at its time, and the near neighbours of that.

    The pair is the one that the write ended, or the one that ended after it.
    """
    ends = [first.created_at, *(pair.at for pair in pairs)]
    ended_places: set[int] = set()
    placed = []
    for write in inexact_writes:
        place = bisect_right(ends, write.at + EARLY_MS)
        last = place - 1
        if last >= 0 and ends[last] >= write.at - LATE_MS and last not in ended_places:
            ended_places.add(last)
            place = last
        by_time = pairs[place - 1] if 0 < place < len(ends) else None  # at 0: what it wrote was in the first version
        if by_time and by_time.is_owned:
            placed.append(Candidates(write, None))
            continue
        neighbours = (pairs[number] for number in (place - 2, place) if 0 <= number < len(pairs))
        near = [
            pair for pair in neighbours if abs(pair.at - write.at) <= NEAR_MS and not (pair.is_owned or pair.is_same)
        ]
        placed.append(Candidates(write, by_time, near))
    return placed


def _find_fitting(evidence, fact, candidates) -> list[SnapshotPair]:
    """Return the changes that added a fact, where there are several to choose from."""
    if not candidates.near:
        return []
    pairs = [*([candidates.by_time] if candidates.by_time else []), *candidates.near]
    return [pairs[place] for place in evidence.find_additions(fact, [(pair.before, pair.after) for pair in pairs])]


def _find_detached(inexact_writes, pairs, start) -> list[Write]:
    """Return writes that have snapshots but lie in no pair from `start` on, nor before it."""
    placed = {write.id for pair in pairs for write in pair.inexact_writes}
    since = pairs[start].earliest_at + LATE_MS if pairs[start:] else 0
    rest = inexact_writes if pairs[start:] else ()
    return [write for write in rest if write.at >= since and write.after is not None and write.id not in placed]


def find_unmatched_since(db: str, name: str) -> int | None:
    """Return the first moment of a file's snapshots that no write leads to; None without one."""
    written = WriteGuardianAudit.objects.using(db).filter(after_snapshot=OuterRef("id"))
    unmatched_rows = services.find_held_versions(db, name).filter(~Exists(written)).values_list("id", flat=True)
    unmatched_ids = set(unmatched_rows)
    snapshots = _read_snapshots(db, name, 0)[0] if len(unmatched_ids) > 1 else []
    unmatched_pairs = (
        pair
        for pair in pairwise(snapshots)
        if pair[1].id in unmatched_ids and pair[0].content_hash != pair[1].content_hash
    )
    return next((after.created_at for _before, after in unmatched_pairs), None)
