"""Chooses the sides of a split, and the members of a release.

It is decided by what the session says, so that its names do not matter.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext as _

from agents import databases
from ledger.models import RemovedSession
from ledger.models import Session as StoredSession

from ..dedup import features, signatures
from ..dedup.caps import Caps
from ..dedup.fixed_sides import NO_SIDE, FixedSides
from ..dedup.planner import build_split_plan, find_taught
from ..dedup.sample_hashes import HASHED, compute_content_hash
from ..dedup.signatures import Signature
from ..dedup.split_plan import SplitPlan, compute_key
from ..models import DatasetMember, DatasetSample
from .options import BY_TIME, Options
from .rows import Shape, is_taught, read_fitting
from .source import COLUMNS, ORDER, DecisionVerdicts, PlainRow, Source

TRAIN, VALIDATION, TEST = SIDES = ("train", "validation", "test")


def list_sides(validation: float) -> tuple[str, ...]:
    """The sides that an export has, filled or empty."""
    return SIDES if validation else (TRAIN, TEST)


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


OWN = tuple(dict.fromkeys((*ORDER, *signatures.SAMPLE_COLUMNS, *HASHED)))
MEMBER_COLUMNS = (*OWN, *[f"signature__{name}" for name in signatures.COLUMNS])


def read_release_plan(source: Source, version_id: str, report_progress: Callable[[int], None]) -> SplitPlan:
    """The sides of the members of a release, whose samples `source` has.

    Samples that were edited since the release are not in the plan, and are noted in `source.changed`.
    `report_progress` is called with the number of samples that were read.
    """
    keys, words, sides, count = array("q"), array("Q"), bytearray(), 0
    sessions = array("Q")
    for batch in source.read_batches(MEMBER_COLUMNS, "content"):
        for row, signature, side in _read_members(source, version_id, batch):
            keys.append(compute_key(row["id"], signature.made_from))
            words.append(int.from_bytes(signature.words[:8]))
            sides.append(side)
            sessions.append(hash(row["session_id"]) & features.MAX_UINT64)
        count += len(batch)
        report_progress(count)
    taught, taught_on = find_taught(words, bytes(sides))
    sizes = Counter(sessions)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return SplitPlan(
        array("q", (keys[place] for place in order)),
        bytes(sides[place] for place in order),
        taught,
        taught_on,
        samples=len(keys),
        session_sizes=array("I", (sizes[sessions[place]] for place in order)),
    )


def _read_members(source, version_id, batch) -> Iterator[tuple[dict[str, Any], Signature, int]]:
    """The rows of a batch that are as they were released, with their signatures and sides."""
    ids = [row[MEMBER_COLUMNS.index("id")] for row in batch]
    members = {
        sample_id: (side, content_hash)
        for sample_id, side, content_hash in DatasetMember.objects.filter(
            version_id=version_id, sample_id__in=ids
        ).values_list("sample_id", "side", "content_hash")
    }
    for values in batch:
        row, signature = dict(zip(OWN, values, strict=False)), Signature(*values[len(OWN) :])
        side, content_hash = members[row["id"]]
        if compute_content_hash(row) != content_hash:
            source.changed.add(row["id"])
            continue
        if not signatures.is_sound(row["id"], signature):
            signature = signatures.build_from_row(row)
        yield row, signature, SIDES.index(side)


def build_export_plan(
    source: Source,
    options: Options,
    verdicts: DecisionVerdicts,
    folder: Path,
    progress: Any,
    total: int,
    fixed: FixedSides | None = None,
) -> SplitPlan:
    """Plan what an export does with each sample of its source.

    `progress` hears how many of `total` samples were read. `fixed`: sides that sessions have already. An export of
    a release has the sides of the release, and no other duplicates than that has left out.
    """

    def report(count):
        progress.update(0, total, _("Comparing samples: %(count)s so far") % {"count": f"{count:,}"})

    if options.release is not None:
        return read_release_plan(source, options.release, report)
    if fixed is None and options.split_by == BY_TIME:
        fixed = DaySides(options.split_day or "")

    return build_split_plan(
        _read_batches(source, options.shape, verdicts),
        folder=folder,
        seed=options.seed,
        duplicates=options.duplicates,
        shares=(
            options.train_split,
            options.validation_split,
            max(0.0, 1 - options.train_split - options.validation_split),
        ),
        report_progress=report,
        fixed=fixed,
        caps=Caps(options.max_per_session, options.max_per_tool, options.max_per_twins),
    )


def _read_batches(source, shape: Shape, verdicts: DecisionVerdicts) -> Iterator[list[PlainRow]]:
    """The samples to compare, without those that have nothing to teach for the task."""
    own = len(features.COLUMNS)
    if shape.task == "reply":
        for batch in source.read_batches((*features.COLUMNS, "sample_type"), features.LONG_COLUMN):
            yield [row[:own] for row in batch if is_taught(shape, row[own])]
        return
    for batch in source.read_batches((*features.COLUMNS, *COLUMNS), "content"):
        rows = ((row[:own], dict(zip(COLUMNS, row[own:], strict=True))) for row in batch)
        yield [row for row, columns in rows if not isinstance(read_fitting(shape, columns, verdicts), str)]
