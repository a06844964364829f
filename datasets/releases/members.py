"""Reads the members of releases, and the sides that sessions have to keep."""

from collections.abc import Collection, Iterator, Set
from typing import Any, Protocol

from ..dedup.fixed_sides import NO_SIDE
from ..exports.plan import SIDES, SideTable
from ..models import Dataset, DatasetMember, DatasetVersion, SessionSide

MEMBER_COLUMNS = ("sample_id", "side", "status", "label_id", "content_hash")
BATCH = 500
NO_ID = "agent:"  # before the id of an agent: its sessions without an id


def read_members(version: DatasetVersion, columns: tuple[str, ...] = MEMBER_COLUMNS) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the members of a release in the order of their samples' ids, in batches.

    `columns` begin with `sample_id`.
    """
    rows = DatasetMember.objects.filter(version=version).order_by("sample_id").values_list(*columns)
    batch = list(rows[:BATCH])
    while batch:
        yield batch
        batch = list(rows.filter(sample_id__gt=batch[-1][0])[:BATCH])


def get_side_name(agent_id: str, session_id: str) -> str:
    """The text that names a session in `dataset_sides`: sessions with one id share a side."""
    return session_id or f"{NO_ID}{agent_id}"


class SideFinder(Protocol):
    """Knows the sides of sessions by something else than their words."""

    def find_side(self, agent_id: str, session_id: str) -> int:
        """The number of a session's side, or NO_SIDE."""


class ReleasedSides:
    """The sides of a dataset's sessions, and the members of its latest release.

    `later`: finds the sides of sessions that have none yet.
    """

    def __init__(self, dataset: Dataset, latest: DatasetVersion | None, later: SideFinder | None = None):
        rows = SessionSide.objects.filter(dataset=dataset).values_list("session_id", "side")
        self.table = SideTable((name, SIDES.index(side)) for name, side in rows.iterator(chunk_size=2_000))
        self.latest, self.later = latest, later

    def find_side(self, agent_id: str, session_id: str) -> int:
        """The number of a session's side, or NO_SIDE."""
        side = self.table.find_side(get_side_name(agent_id, session_id))
        if side == NO_SIDE and self.later:
            return self.later.find_side(agent_id, session_id)
        return side

    def find_members(self, sample_ids: Collection[str]) -> Set[str]:
        """Those of these samples that the latest release has."""
        if self.latest is None:
            return frozenset()
        ids, members = list(sample_ids), set[str]()
        rows = DatasetMember.objects.filter(version=self.latest)
        for start in range(0, len(ids), BATCH):
            members.update(rows.filter(sample_id__in=ids[start : start + BATCH]).values_list("sample_id", flat=True))
        return members
