"""Sides of sessions by the day when they ended."""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Set
from datetime import UTC, datetime

from django.db.models import Max

from agents import databases
from ledger.models import RemovedSession
from ledger.models import Session as StoredSession

from ...dedup.fixed_sides import NO_SIDE
from ...models import DatasetSample
from ..builder.splits import SIDES, TEST, TRAIN

TRAIN_NUMBER, TEST_NUMBER = SIDES.index(TRAIN), SIDES.index(TEST)


class SideTable:
    """Sides by the names of sessions, in 9 bytes each."""

    def __init__(self, rows: Iterable[tuple[str, int]]):
        keys, sides = array("q"), bytearray()
        for name, side in rows:
            keys.append(hash(name))
            sides.append(side)
        order = sorted(range(len(keys)), key=keys.__getitem__)
        self.keys = array("q", (keys[place] for place in order))
        self.sides = bytes(sides[place] for place in order)

    def find_side(self, name: str) -> int:
        """The number of a side, or NO_SIDE."""
        key = hash(name)
        place = bisect_left(self.keys, key)
        return self.sides[place] if place < len(self.keys) and self.keys[place] == key else NO_SIDE


class DaySides:
    """Sessions that ended before a day (UTC) are for training, the others for testing."""

    def __init__(self, day: str):
        self.limit_ms = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1_000)
        self.agents: dict[str, SideTable] = {}

    def find_side(self, agent_id: str, session_id: str) -> int:
        """The number of a session's side."""
        if agent_id not in self.agents:
            self.agents[agent_id] = SideTable(self._read_sides(agent_id))
        side = self.agents[agent_id].find_side(session_id)
        return side if side != NO_SIDE else self._find_by_samples(agent_id, session_id)

    def find_members(self, _sample_ids: Collection[str]) -> Set[str]:
        """No sample: there is no earlier release."""
        return frozenset()

    def _read_sides(self, agent_id):
        try:
            db = databases.get_alias(agent_id)
        except databases.UnknownAgent:
            return
        for model, name in ((RemovedSession, "session_id"), (StoredSession, "id")):
            rows = model.objects.using(db).values_list(name, "last_activity_at")
            for session_id, ended_at in rows.iterator(chunk_size=2_000):
                yield session_id, self._choose(ended_at)

    def _find_by_samples(self, agent_id, session_id):
        """The side of a session that is not stored: its samples were created after its turns."""
        samples = DatasetSample.objects.filter(agent_id=agent_id, session_id=session_id)
        return self._choose(samples.aggregate(latest=Max("created_at"))["latest"] or 0)

    def _choose(self, ended_at):
        return TRAIN_NUMBER if ended_at < self.limit_ms else TEST_NUMBER
