"""The versions of a memory file in order, and the writes that lie between each two. Only reads."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from django.db.models import Exists, OuterRef, Q

from .. import services
from ..models import RollbackIntent, WriteGuardianAudit
from .placing import NEAR_MS
from .told import CHANGED, Origin, Source

EARLY_MS = 50  # a write is told after its file was modified; clocks of files are coarse
LATE_MS = 1_000  # between the moment a file was modified and the line that tells of it
QUIET_MS = 60_000  # a file that is modified this long after the last write that was told: something else wrote
State = RollbackIntent.State


@dataclass(frozen=True, slots=True)
class Version:
    """One version without its content."""

    id: str
    at: int
    hash: str


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
    def is_told_exactly(self) -> bool:
        """Whether somebody told what the file held."""
        return not self.is_loose and self.origin != Origin.UNATTRIBUTED


@dataclass(slots=True)
class Gap:
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

    @property
    def is_unannounced(self) -> bool:
        """Whether something changed the file that nobody told of: alone, or after everything that was told."""
        if self.is_owned or self.is_same:
            return False
        return not self.loose or self.at - self.loose[-1].at > QUIET_MS

    @property
    def since(self) -> int:
        """From when on the unannounced change may have been made."""
        return max([self.earliest_at, *(write.at for write in self.loose)])


def gaps(db: str, name: str, since: int = 0) -> list[Gap]:
    """The gaps of a file that end at `since` or after it, the oldest first."""
    versions = _versions(db, name, since)
    if not versions:
        return []
    writes = _writes(db, name, versions[0].at - NEAR_MS - LATE_MS)
    ends = {write.after: write.id for write in writes if write.is_told_exactly and write.before != write.after}
    removed = {write.before for write in writes if _removes(write)}
    busy = _busy(db, name)
    found = []
    for before, after in pairwise(versions):
        is_new = before.id in removed
        is_same = not is_new and before.hash == after.hash
        gap = Gap(None if is_new else before.id, after.id, after.at, before.at, is_same)
        gap.owner = ends.get(after.id)
        gap.is_owned = gap.owner is not None or after.id in busy
        found.append(gap)
    loose = [write for write in writes if write.is_loose and write.at >= versions[0].at - LATE_MS]
    _spread(loose, found, versions[0])
    return found


def _removes(write):
    return write.after is None and write.before is not None and not write.sources & Source.FILES


def _versions(db, name, since) -> list[Version]:
    """The versions from the last one before `since` on; without those that a rollback prepared and never wrote."""
    rows = services.held(db, name).order_by("created_at", "id")
    first = rows.filter(created_at__lt=since).values_list("created_at", flat=True).last()
    rows = rows if first is None else rows.filter(created_at__gte=first)
    found = [Version(*row) for row in rows.values_list("id", "created_at", "content_hash")]
    never = _never_written(db, name, [version.id for version in found])
    return [version for version in found if version.id not in never]


def _never_written(db, name, ids):
    intents = RollbackIntent.objects.using(db).filter(file_name=name, state__in=(State.PLANNED, State.UNDONE))
    planned = set(intents.exclude(after_snapshot=None).values_list("after_snapshot_id", flat=True)) & set(ids)
    if not planned:
        return planned
    told = WriteGuardianAudit.objects.using(db).filter(Q(after_snapshot__in=planned) | Q(before_snapshot__in=planned))
    told = told.exclude(origin=Origin.UNATTRIBUTED)
    sides = told.values_list("before_snapshot_id", "after_snapshot_id", "sources")
    return planned - {one for before, after, sources in sides if not sources & Source.FILES for one in (before, after)}


def _busy(db, name):
    """Versions that a rollback of ours is writing: its own write is told once it is done."""
    intents = (
        RollbackIntent.objects.using(db).filter(file_name=name, state=State.EXCHANGED).exclude(after_snapshot=None)
    )
    return set(intents.values_list("after_snapshot_id", flat=True))


def _writes(db, name, since) -> list[Write]:
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, status__in=CHANGED, created_at__gte=since)
    columns = ("id", "created_at", "before_snapshot_id", "after_snapshot_id", "sources", "is_diff_shared", "origin")
    return [Write(*row) for row in rows.order_by("created_at", "id").values_list(*columns)]


def _spread(loose: Sequence[Write], found: Sequence[Gap], first: Version) -> None:
    """Put each loose write into the gap that it lies in: the one it ended, or the one that ended after it."""
    ends = [first.at, *(gap.at for gap in found)]
    hit: set[int] = set()
    for write in loose:
        place = bisect_right(ends, write.at + EARLY_MS)
        last = place - 1
        if last >= 0 and ends[last] >= write.at - LATE_MS and last not in hit:
            hit.add(last)
            place = last
        if 0 < place < len(ends) and not found[place - 1].is_owned:  # at 0: what it wrote was in the first version
            found[place - 1].loose.append(write)


def detached(db: str, name: str, found: Sequence[Gap]) -> list[Write]:
    """Writes that have versions by their time, and lie in none of these gaps nor before them."""
    placed = {write.id for gap in found for write in gap.loose}
    return [
        write
        for write in (_writes(db, name, found[0].earliest_at + LATE_MS) if found else ())
        if write.is_loose and write.after is not None and write.id not in placed
    ]


def unsettled_since(db: str, name: str) -> int | None:
    """From when on a file has versions that no write leads to yet; None when there are none."""
    written = WriteGuardianAudit.objects.using(db).filter(after_snapshot=OuterRef("id"))
    lonely = services.held(db, name).filter(~Exists(written)).values_list("id", flat=True)
    wanted = set(lonely)
    found = _versions(db, name, 0) if len(wanted) > 1 else []
    pairs = pairwise(found)
    return next((after.at for before, after in pairs if after.id in wanted and before.hash != after.hash), None)
