"""Counts samples and verdicts in SQL, from indexes that have the counted columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Max

from gate.statistics.figures import Period
from gate.statistics.sums import DAY_MS
from openclaw_web.sqlite import statements

from ..models import DatasetSample, ReviewAction

TYPES, STATUSES = DatasetSample.Type.values, DatasetSample.Status.values
BUCKETS = 10  # of the score, from 0 to 1
LONGEST_PAUSE_MS = 600_000  # between two actions of a person; a longer one is no work on a sample
TIMED_ACTIONS, TIMED_PEOPLE = 1_001, 100  # the latest, and of the people with the most verdicts
# One seek for each day, type and status: SQLite counts an index without sorting what it groups.
DAYS = "WITH RECURSIVE days(day) AS (SELECT %s UNION ALL SELECT day + 1 FROM days WHERE day < %s)"
OF_TYPE_AND_STATUS = f"""SELECT '{{type}}', '{{status}}', day, (SELECT COUNT(*) FROM dataset_samples
WHERE sample_type = '{{type}}' AND {{is_status}} AND created_at >= day * {DAY_MS} AND created_at < (day + 1) * {DAY_MS})
FROM days"""  # noqa: S608 - our own words
# The conditions and the order are those of the index idx_action_day.
VERDICTS = f"""SELECT at / {DAY_MS}, actor, status, SUM(sample_count) FROM review_actions
WHERE at / {DAY_MS} >= %s AND at / {DAY_MS} <= %s AND status IS NOT NULL AND NOT (state = 'undone')
GROUP BY at / {DAY_MS}, actor, status"""  # noqa: S608
# The latest actions of a person; their index has both columns of the condition.
LATEST = """SELECT * FROM (SELECT actor, at, kind FROM review_actions WHERE actor = %s AND at >= %s AND at < %s
AND sample_count > 0 ORDER BY at DESC, id DESC LIMIT {limit})"""
SCORES = """SELECT {bucket}, COUNT(*) FROM dataset_samples WHERE quality_score >= %s AND quality_score {end} %s"""


@dataclass(frozen=True, slots=True)
class SampleCount:
    """Samples of one type and status that were created on one day.

    The status is empty when the only verdict was undone.
    """

    type: str
    status: str
    day: int  # first millisecond
    count: int


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """Verdicts of one person and status on one day."""

    day: int
    by: str
    status: str
    count: int


def count_samples(period: Period) -> list[SampleCount]:
    """The samples that were created on these days, by type, status and day."""
    conditions = {"": "annotation_status IS NULL"} | {name: f"annotation_status = '{name}'" for name in STATUSES}
    parts = [
        OF_TYPE_AND_STATUS.format(type=name, status=status, is_status=condition)
        for name in TYPES
        for status, condition in conditions.items()
    ]
    rows = statements.read_rows(DEFAULT_DB_ALIAS, f"{DAYS} {' UNION ALL '.join(parts)}", _find_days(period))
    return [SampleCount(name, status, day * DAY_MS, count) for name, status, day, count in rows if count]


def count_verdicts(period: Period) -> list[VerdictCount]:
    """The verdicts of these days that were not undone, by day, person and status."""
    rows = statements.read_rows(DEFAULT_DB_ALIAS, VERDICTS, _find_days(period))
    return [VerdictCount(day * DAY_MS, by, status, count) for day, by, status, count in rows]


def read_median_seconds(period: Period, people: Sequence[str]) -> dict[str, int]:
    """The median time that the latest 1,000 verdicts of each person took, in seconds, by person.

    That is the time since the action before. More than ten minutes, and verdicts of bulk actions, do not count.
    """
    named = people[:TIMED_PEOPLE]
    if not named:
        return {}
    sql = " UNION ALL ".join([LATEST.format(limit=TIMED_ACTIONS)] * len(named))
    values = [value for name in named for value in (name, *_find_ends(period))]
    pauses: dict[str, list[int]] = {}
    rows = statements.read_rows(DEFAULT_DB_ALIAS, sql, values)
    ordered = sorted(rows, key=lambda row: (row[0], -row[1]))
    for (by, at, kind), (other, before, _kind) in pairwise(ordered):
        if by == other and kind == ReviewAction.Kind.VERDICT and at - before <= LONGEST_PAUSE_MS:
            pauses.setdefault(by, []).append(at - before)
    return {by: round(median(times) / 1000) for by, times in pauses.items()}


def count_scores() -> list[int]:
    """The samples whose score is in each tenth from 0 to 1.

    A score of 1 is in the last one.
    """
    parts, values = [], []
    for bucket in range(BUCKETS):
        is_last = bucket == BUCKETS - 1
        parts.append(SCORES.format(bucket=bucket, end="<=" if is_last else "<"))
        values += [bucket / BUCKETS, (bucket + 1) / BUCKETS]
    return [
        count for _bucket, count in sorted(statements.read_rows(DEFAULT_DB_ALIAS, " UNION ALL ".join(parts), values))
    ]


def find_newest() -> int | None:
    """The time of the newest sample or verdict in milliseconds; None: there is none."""
    times = [
        DatasetSample.objects.aggregate(newest=Max("created_at"))["newest"],
        ReviewAction.objects.filter(sample_count__gt=0).order_by("-at").values_list("at", flat=True).first(),
    ]
    return max((time for time in times if time is not None), default=None)


def _find_days(period):
    start, end = period.moments
    return [start // DAY_MS, end // DAY_MS]


def _find_ends(period):
    start, end = period.moments
    return [start, end + DAY_MS]
