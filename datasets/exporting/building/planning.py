"""Before rows are written: which samples say the same, and on which side each session is."""

from collections.abc import Callable, Iterator
from pathlib import Path

from ...exporters.samples import Unreadable, read_sample
from ...exporters.training_rows import Shape, unfit
from ...likeness import gathered
from ...likeness.fates import Plan
from ...likeness.plan import plan
from ..options import Options
from . import splits
from .plain_rows import PlainRow
from .source import COLUMNS, Source


def planned(source: Source, options: Options, folder: Path, hear: Callable[[int], None]) -> Plan:
    """What an export does with each sample of its source; `hear` is told how many were read."""

    def side_of(key: int) -> int:
        return splits.SIDES.index(splits.side(key, train=options.train_split, validation=options.validation_split))

    return plan(
        _batches(source, options.shape),
        folder=folder,
        seed=options.seed,
        duplicates=options.duplicates,
        side_of=side_of,
        hear=hear,
    )


def _batches(source, shape: Shape) -> Iterator[list[PlainRow]]:
    """The samples to compare, without those that have nothing to teach for the task."""
    if shape.task != "gate":
        yield from source.batches(gathered.COLUMNS, gathered.LONG_COLUMN)
        return
    own = len(gathered.COLUMNS)
    for batch in source.batches((*gathered.COLUMNS, *COLUMNS), "content"):
        yield [row[:own] for row in batch if _teaches(row[own:], shape)]


def _teaches(row, shape):
    try:
        return unfit(shape, read_sample(dict(zip(COLUMNS, row, strict=True)))) is None
    except Unreadable:
        return False
