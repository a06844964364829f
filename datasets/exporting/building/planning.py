"""Before rows are written: which samples say the same, and on which side each session is."""

from collections.abc import Callable, Iterator
from pathlib import Path

from ...exporters.samples import Unreadable, read_sample
from ...exporters.training_rows import Shape, is_taught, unfit
from ...likeness import gathered
from ...likeness.fates import Plan
from ...likeness.plan import plan
from ..options import Options
from . import splits
from .decided import Decided
from .plain_rows import PlainRow
from .source import COLUMNS, Source


def planned(source: Source, options: Options, decided: Decided, folder: Path, hear: Callable[[int], None]) -> Plan:
    """What an export does with each sample of its source; `hear` is told how many were read."""

    def side_of(key: int) -> int:
        return splits.SIDES.index(splits.side(key, train=options.train_split, validation=options.validation_split))

    return plan(
        _batches(source, options.shape, decided),
        folder=folder,
        seed=options.seed,
        duplicates=options.duplicates,
        side_of=side_of,
        hear=hear,
    )


def _batches(source, shape: Shape, decided: Decided) -> Iterator[list[PlainRow]]:
    """The samples to compare, without those that have nothing to teach for the task."""
    own = len(gathered.COLUMNS)
    if shape.task == "reply":
        for batch in source.batches((*gathered.COLUMNS, "sample_type"), gathered.LONG_COLUMN):
            yield [row[:own] for row in batch if is_taught(shape, row[own])]
        return
    for batch in source.batches((*gathered.COLUMNS, *COLUMNS), "content"):
        yield [row[:own] for row in batch if _teaches(dict(zip(COLUMNS, row[own:], strict=True)), shape, decided)]


def _teaches(row, shape, decided):
    if not is_taught(shape, row["sample_type"]) or decided.overrules(row):
        return False
    try:
        return unfit(shape, read_sample(row)) is None
    except Unreadable:
        return False
