"""Figures of samples and verdicts of some days, as pages, API and commands show them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from gate.statistics.figures import Period
from gate.statistics.sums import DAY_MS
from openclaw_web import clock
from openclaw_web.errors import Refused

from ..models import DatasetSample
from ..words import UNDONE
from . import counts
from .counts import SampleCount, VerdictCount

DEFAULT_DAYS = 30
MOST_DAYS = 1_000
YEARS = range(1970, 3000)
MOST_BY_DAY = 100  # more days are grouped by ISO week
APPROVED, REJECTED = DatasetSample.Status.APPROVED.value, DatasetSample.Status.REJECTED.value


@dataclass(frozen=True, slots=True)
class Part:
    """A day or an ISO week, cut to the chosen days, with its counts by status."""

    period: Period
    created: Counter[str]
    verdicts: Counter[str]


@dataclass(frozen=True, slots=True)
class Labeller:
    """The verdicts of one person.

    `median_seconds` is the usual time for one; None: not known.
    """

    name: str
    verdicts: Counter[str]
    median_seconds: int | None

    @property
    def count(self) -> int:
        """All verdicts of the person."""
        return self.verdicts.total()

    @property
    def approve_share(self) -> float | None:
        """The share of approvals among approvals and rejections, 0 to 1; None: there is neither."""
        judged = self.verdicts[APPROVED] + self.verdicts[REJECTED]
        return self.verdicts[APPROVED] / judged if judged else None


@dataclass
class Statistics:
    """Samples that were created on some days, and verdicts that were given then.

    `scores` are counts of all samples by tenths of their score, whenever they were created.
    """

    period: Period
    samples: Sequence[SampleCount] = ()
    verdicts: Sequence[VerdictCount] = ()
    median_seconds: dict[str, int] = field(default_factory=dict)
    scores: Sequence[int] = ()

    @cached_property
    def by_type(self) -> Counter[str]:
        """Created samples by type."""
        return _sum_counts((row.type, row.count) for row in self.samples)

    @cached_property
    def by_status(self) -> Counter[str]:
        """Created samples by status; the key of an undone verdict is empty."""
        return _sum_counts((row.status, row.count) for row in self.samples)

    @cached_property
    def by_both(self) -> Counter[tuple[str, str]]:
        """Created samples by type and status."""
        return _sum_counts(((row.type, row.status), row.count) for row in self.samples)

    @property
    def labellers(self) -> list[Labeller]:
        """Every person with verdicts on these days, the one with the most verdicts first."""
        verdicts: dict[str, Counter[str]] = {}
        for row in self.verdicts:
            verdicts.setdefault(row.by, Counter())[row.status] += row.count
        rows = [Labeller(name, counted, self.median_seconds.get(name)) for name, counted in verdicts.items()]
        return sorted(rows, key=lambda row: (-row.count, row.name))

    @property
    def is_weekly(self) -> bool:
        """Whether the parts are weeks, because there are too many days."""
        return self.period.days > MOST_BY_DAY

    def read_parts(self) -> list[Part]:
        """Every day or week of the period, the oldest first, also those without samples."""
        created, verdicts = _group_days(self.samples), _group_days(self.verdicts)
        empty: Counter[str] = Counter()
        parts = []
        for period in self.period.split(is_weekly=self.is_weekly):
            start, end = period.moments
            days = range(start, end + 1, DAY_MS)
            sums = [sum((by_day[day] for day in days if day in by_day), empty) for by_day in (created, verdicts)]
            parts.append(Part(period, *sums))
        return parts


def resolve_period(first: date | None, last: date | None) -> Period:
    """The chosen days.

    Without a first one they are the 30 days up to the last; without a last one they end with the newest row.

    Raises Refused for days in the wrong order, for more than 1,000, and for years other than 1970 to 2999.
    """
    if any(day is not None and day.year not in YEARS for day in (first, last)):
        raise Refused(_("Choose days of the years 1970 to 2999."))
    if last is None:
        newest = None if first else counts.find_newest()
        last = clock.day_of(clock.now_ms() if newest is None else newest)
        last = max(last, first or last)
    first = first or last - timedelta(days=DEFAULT_DAYS - 1)
    if first > last:
        raise Refused(_("The first day is after the last day."))
    period = Period(first, last)
    if period.days > MOST_DAYS:
        raise Refused(_("Statistics cover at most %(most)s days. Choose fewer days.") % {"most": f"{MOST_DAYS:,}"})
    return period


def read_statistics(period: Period) -> Statistics:
    """The figures of these days."""
    statistics = Statistics(
        period, counts.count_samples(period), counts.count_verdicts(period), scores=counts.count_scores()
    )
    statistics.median_seconds = counts.read_median_seconds(period, [row.name for row in statistics.labellers])
    return statistics


def statistics_to_json(statistics: Statistics) -> dict[str, Any]:
    """All figures for programs."""
    both = sorted(statistics.by_both.items())
    return {
        "first_day": str(statistics.period.start),
        "last_day": str(statistics.period.end),
        "created": statistics.by_type.total(),
        "verdicts": sum(row.count for row in statistics.verdicts),
        "days": [part_to_json(part) for part in statistics.read_parts()],
        "types": dict(statistics.by_type),
        "statuses": {status or UNDONE: count for status, count in statistics.by_status.items()},
        "types_and_statuses": [{"type": name, "status": status or None, "count": n} for (name, status), n in both],
        "quality": scores_to_json(statistics.scores),
        "labellers": [labeller_to_json(labeller) for labeller in statistics.labellers],
    }


def part_to_json(part: Part) -> dict[str, Any]:
    """A day or week for programs."""
    return {
        "first_day": str(part.period.start),
        "last_day": str(part.period.end),
        "created": part.created.total(),
        "verdicts": part.verdicts.total(),
        "approved": part.verdicts[APPROVED],
        "rejected": part.verdicts[REJECTED],
    }


def scores_to_json(scores: Sequence[int]) -> list[dict[str, Any]] | None:
    """Counts by tenths of the score; None: no sample has a score."""
    if not any(scores):
        return None
    return [
        {"at_least": number / len(scores), "below": (number + 1) / len(scores), "count": count}
        for number, count in enumerate(scores)
    ]


def labeller_to_json(labeller: Labeller) -> dict[str, Any]:
    """A person's verdicts for programs."""
    return {
        "name": labeller.name,
        "verdicts": labeller.count,
        "approved": labeller.verdicts[APPROVED],
        "rejected": labeller.verdicts[REJECTED],
        "approve_share": labeller.approve_share,
        "median_seconds": labeller.median_seconds,
    }


def _sum_counts(pairs) -> Counter:
    summed: Counter = Counter()
    for key, count in pairs:
        summed[key] += count
    return summed


def _group_days(rows) -> dict[int, Counter[str]]:
    days: dict[int, Counter[str]] = {}
    for row in rows:
        days.setdefault(row.day, Counter())[row.status] += row.count
    return days
