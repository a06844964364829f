"""Plans an export before its rows are written.

The plan says which samples say the same, and on which side each session is.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from ...dedup import features
from ...dedup.fixed_sides import FixedSides
from ...dedup.planner import build_split_plan
from ...dedup.split_plan import SplitPlan
from ...exporters.samples import UnreadableSample, read_sample
from ...exporters.training_rows import Shape, find_unfit_reason, is_taught
from ..options import BY_TIME, Options
from ..release_members.day_sides import DaySides
from ..release_members.release_plan import read_release_plan
from . import splits
from .decision_verdicts import DecisionVerdicts
from .plain_rows import PlainRow
from .source import COLUMNS, Source


def build_export_plan(
    source: Source,
    options: Options,
    verdicts: DecisionVerdicts,
    folder: Path,
    hear: Callable[[int], None],
    fixed: FixedSides | None = None,
) -> SplitPlan:
    """Plan what an export does with each sample of its source.

    `hear` is called with the number of samples that were read. `fixed`: sides that sessions have already. An export of
    a release has the sides of the release, and no other duplicates than that has left out.
    """
    if options.release is not None:
        return read_release_plan(source, options.release, hear)
    if fixed is None and options.split_by == BY_TIME:
        fixed = DaySides(options.split_day or "")

    def side_of(key: int) -> int:
        return splits.SIDES.index(
            splits.choose_side(key, train=options.train_split, validation=options.validation_split)
        )

    return build_split_plan(
        _read_batches(source, options.shape, verdicts),
        folder=folder,
        seed=options.seed,
        duplicates=options.duplicates,
        side_of=side_of,
        report_progress=hear,
        fixed=fixed,
    )


def _read_batches(source, shape: Shape, verdicts: DecisionVerdicts) -> Iterator[list[PlainRow]]:
    """The samples to compare, without those that have nothing to teach for the task."""
    own = len(features.COLUMNS)
    if shape.task == "reply":
        for batch in source.read_batches((*features.COLUMNS, "sample_type"), features.LONG_COLUMN):
            yield [row[:own] for row in batch if is_taught(shape, row[own])]
        return
    for batch in source.read_batches((*features.COLUMNS, *COLUMNS), "content"):
        yield [row[:own] for row in batch if _has_lesson(dict(zip(COLUMNS, row[own:], strict=True)), shape, verdicts)]


def _has_lesson(row, shape, verdicts):
    if not is_taught(shape, row["sample_type"]) or verdicts.overrules(row):
        return False
    try:
        return find_unfit_reason(shape, read_sample(row)) is None
    except UnreadableSample:
        return False
