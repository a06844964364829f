"""Reads the members of releases, and the sides that sessions have to keep."""

from collections.abc import Collection, Iterator, Set
from typing import Any, Protocol

from django.db.models import BinaryField, TextField, Value
from django.db.models.functions import Cast

from openclaw_web.sqlite import statements

from ..dedup.fixed_sides import NO_SIDE
from ..exports.plan import SIDES, SideTable
from ..json_texts import escape_halves
from ..models import Dataset, DatasetMember, DatasetVersion, SessionSide

MEMBER_COLUMNS = ("sample_id", "side", "status", "label_id", "content_hash")
BATCH = 500
NO_ID = "agent:"  # before the id of an agent: its sessions without an id


def read_members(version: DatasetVersion, columns: tuple[str, ...] = MEMBER_COLUMNS) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the members of a release in the order of their samples' ids, in batches.

    `columns` begin with `sample_id`. Texts that are no UTF-8 have halves of surrogate pairs.
    """
    rows = DatasetMember.objects.filter(version=version).order_by("sample_id").values_list(*columns)
    batch = _read_batch(rows)
    while batch:
        yield batch
        last = batch[-1][0]
        is_text = isinstance(last, str)
        key = Value(last.encode(errors="surrogateescape") if is_text else last, BinaryField())
        batch = _read_batch(rows.filter(sample_id__gt=Cast(key, TextField()) if is_text else key))


def _read_batch(rows):
    with statements.undecodable_texts("default"):
        return statements.read_rows("default", *rows[:BATCH].query.sql_with_params())


def is_storable(member: tuple[Any, ...]) -> bool:
    """Whether all columns of a member are as our own rows have them: numbers, or texts of UTF-8."""
    texts = [value for value in member if not isinstance(value, int | None)]
    return all(isinstance(text, str) and escape_halves(text) == text for text in texts)


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
