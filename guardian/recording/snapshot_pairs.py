"""The versions of a memory file in order, and the writes that lie between each two. Only reads."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from django.db.models import Exists, OuterRef, Q

from .. import services
from ..fact_evidence import Evidence, read_facts
from ..models import RollbackIntent, WriteGuardianAudit
from . import sql
from .reports import Origin, Source
from .snapshot_placement import NEAR_MS
from .sql import Snapshot

EARLY_MS = 50  # a write is told after its file was modified; clocks of files are coarse
LATE_MS = 1_000  # between the moment a file was modified and the line that tells of it
QUIET_MS = 60_000  # a file that is modified this long after the last write that was told: something else wrote
CONTEXT = 5  # versions before those that are looked at: writes near them may have neighbours among these
State = RollbackIntent.State


@dataclass(frozen=True, slots=True)
class Write:
    """A write as far as its place is concerned."""

    id: str
    at: int
    before: str | None
    after: str | None
    sources: int
    is_shared: bool
    origin: str

    @property
    def is_loose(self) -> bool:
        """Whether nobody told what the file held: its versions follow from its time."""
        is_told = self.before is not None or self.after is not None or self.sources & Source.ELSEWHERE
        return self.origin != Origin.UNATTRIBUTED and (not is_told or bool(self.sources & Source.FILES))

    @property
    def has_exact_sides(self) -> bool:
        """Whether somebody told what the file held."""
        return not self.is_loose and self.origin != Origin.UNATTRIBUTED


@dataclass(slots=True)
class SnapshotPair:
    """Two versions that follow each other, and what is known of how one became the other.

    `before` is None where there was no file. `is_owned`: somebody told of exactly this change, or a rollback made it.
    """

    before: str | None
    after: str
    at: int
    earliest_at: int
    is_same: bool
    is_owned: bool = False
    owner: str | None = None
    loose: list[Write] = field(default_factory=list)
    is_of_another: bool = False  # another agent of the same workspace is known to have made the change

    @property
    def is_unattributed(self) -> bool:
        """Whether something changed the file that nobody told of: alone, or after everything that was told."""
        if self.is_owned or self.is_same or self.is_of_another:
            return False
        return not self.loose or self.at - self.loose[-1].at > QUIET_MS

    @property
    def since(self) -> int:
        """From when on the unannounced change may have been made."""
        return max([self.earliest_at, *(write.at for write in self.loose)])


@dataclass(slots=True)
class SnapshotPairs:
    """The gaps of a file, the oldest first, and the writes that have versions by their time and lie in none of them."""

    pairs: list[SnapshotPair] = field(default_factory=list)
    detached: list[Write] = field(default_factory=list)


@dataclass(slots=True)
class Candidates:
    """The changes that a write may have made: the one that holds its time, and neighbours within NEAR_MS."""

    write: Write
    by_time: SnapshotPair | None
    near: list[SnapshotPair] = field(default_factory=list)


def read_snapshot_pairs(db: str, name: str, since: int = 0) -> SnapshotPairs:
    """What became of a file from shortly before `since` on: as far back as a version of that moment has a say."""
    first_at = since - NEAR_MS - LATE_MS
    versions, busy = _versions(db, name, first_at)
    if not versions:
        return SnapshotPairs()
    gaps, writes = _gaps(db, name, versions, busy, versions[0].created_at - LATE_MS)
    loose = [write for write in writes if write.is_loose and write.at >= versions[0].created_at - LATE_MS]
    _link(db, _spread(loose, gaps, versions[0]))
    start = max(sum(version.created_at < first_at for version in versions) - 2, 0)
    return SnapshotPairs(gaps[start:], _detached(loose, gaps, start))


def is_ambiguous(db: str, row: WriteGuardianAudit) -> bool:
    """Whether a write has no versions because several changes near it added the words of its fact."""
    name, at = row.target_file or "", row.created_at
    versions, busy = _held(db, sql.read_snapshots_around(db, name, at + EARLY_MS, count=3))
    if len(versions) < 2:
        return False
    gaps, _writes = _gaps(db, name, versions, busy, at + 1)
    write = Write(row.id, at, None, None, row.sources, False, row.origin)
    return len(_fitting(Evidence(db), row.candidate_fact or "", _spread([write], gaps, versions[0])[0])) > 1


def _gaps(db, name, versions, busy, since) -> tuple[list[SnapshotPair], list[Write]]:
    """The gaps between versions; the writes that led to them, and those since a moment that nobody placed exactly."""
    rows = sql.read_writes(db, name, [version.id for version in versions], since)
    writes = [Write(*row) for row in rows]
    ends = {write.after: write.id for write in writes if write.is_told_exactly and write.before != write.after}
    removed = {write.before for write in writes if _removes(write)}
    found = []
    for before, after in pairwise(versions):
        is_new = before.id in removed
        is_same = not is_new and before.content_hash == after.content_hash
        gap = SnapshotPair(None if is_new else before.id, after.id, after.created_at, before.created_at, is_same)
        gap.owner = ends.get(after.id)
        gap.is_owned = gap.owner is not None or after.id in busy
        found.append(gap)
    return found, writes


def _removes(write):
    return write.after is None and write.before is not None and not write.sources & Source.FILES


def _versions(db, name, since) -> tuple[list[Snapshot], set[str]]:
    """The versions from the last one before `since` on; without those that a rollback prepared and never wrote.

    Beside them those that a rollback of ours is writing: its own write is told once it is done.
    """
    return _held(db, sql.read_snapshots(db, name, since, context=CONTEXT))


def _held(db, found) -> tuple[list[Snapshot], set[str]]:
    states = sql.read_intent_states(db, [version.id for version in found])
    never = _never_written(db, {name for name, state in states.items() if state != State.EXCHANGED})
    busy = {name for name, state in states.items() if state == State.EXCHANGED}
    return [version for version in found if version.id not in never], busy


def _never_written(db, planned):
    if not planned:
        return planned
    told = WriteGuardianAudit.objects.using(db).filter(Q(after_snapshot__in=planned) | Q(before_snapshot__in=planned))
    told = told.exclude(origin=Origin.UNATTRIBUTED)
    sides = told.values_list("before_snapshot_id", "after_snapshot_id", "sources")
    return planned - {one for before, after, sources in sides if not sources & Source.FILES for one in (before, after)}


def _spread(loose: Sequence[Write], gaps: Sequence[SnapshotPair], first: Snapshot) -> list[Candidates]:
    """The gap that each loose write lies in, the one it ended or the one that ended after it, and near neighbours."""
    ends = [first.created_at, *(gap.at for gap in gaps)]
    hit: set[int] = set()
    placed = []
    for write in loose:
        place = bisect_right(ends, write.at + EARLY_MS)
        last = place - 1
        if last >= 0 and ends[last] >= write.at - LATE_MS and last not in hit:
            hit.add(last)
            place = last
        by_time = gaps[place - 1] if 0 < place < len(ends) else None  # at 0: what it wrote was in the first version
        if by_time and by_time.is_owned:
            placed.append(Candidates(write, None))
            continue
        beside = (gaps[number] for number in (place - 2, place) if 0 <= number < len(gaps))
        near = [gap for gap in beside if abs(gap.at - write.at) <= NEAR_MS and not (gap.is_owned or gap.is_same)]
        placed.append(Candidates(write, by_time, near))
    return placed


def _link(db: str, placed: Sequence[Candidates]) -> None:
    """Give each write the one change that added its fact; where none did, the one that holds its time."""
    facts = read_facts(db, [candidates.write.id for candidates in placed if candidates.near])
    evidence = Evidence(db)
    for candidates in placed:
        fitting = _fitting(evidence, facts.get(candidates.write.id, ""), candidates)
        gap = fitting[0] if fitting else candidates.by_time
        if gap and len(fitting) < 2:
            gap.loose.append(candidates.write)


def _fitting(evidence, fact, candidates) -> list[SnapshotPair]:
    """The changes that added a fact, where there are several to choose from."""
    if not candidates.near:
        return []
    gaps = [*([candidates.by_time] if candidates.by_time else []), *candidates.near]
    return [gaps[place] for place in evidence.added_by(fact, [(gap.before, gap.after) for gap in gaps])]


def _detached(loose, gaps, start) -> list[Write]:
    """Those that have versions, and lie in no gap nor before those from `start` on."""
    placed = {write.id for gap in gaps for write in gap.loose}
    since = gaps[start].earliest_at + LATE_MS if gaps[start:] else 0
    rest = loose if gaps[start:] else ()
    return [write for write in rest if write.at >= since and write.after is not None and write.id not in placed]


def find_unmatched_since(db: str, name: str) -> int | None:
    """From when on a file has versions that no write leads to yet; None when there are none."""
    written = WriteGuardianAudit.objects.using(db).filter(after_snapshot=OuterRef("id"))
    lonely = services.find_held_versions(db, name).filter(~Exists(written)).values_list("id", flat=True)
    wanted = set(lonely)
    found = _versions(db, name, 0)[0] if len(wanted) > 1 else []
    news = (pair for pair in pairwise(found) if pair[1].id in wanted and pair[0].content_hash != pair[1].content_hash)
    return next((after.created_at for _before, after in news), None)
