"""Counts of decisions with a verdict and of right ones, with the confidence interval."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Sum

from ..models import GateVerdictDay, MemoryGateDecision
from .figures import Period
from .sums import COUNT_COLUMNS

Z = 1.959964  # standard score of 95%
RIGHT = MemoryGateDecision.Verdict.RIGHT


@dataclass(slots=True)
class VerdictCount:
    """A count of judged decisions, and of the right ones among them."""

    count: int = 0
    right: int = 0

    @property
    def wrong(self) -> int:
        return self.count - self.right

    @property
    def share(self) -> float | None:
        """Return the share that was right, from 0 to 1; None for no decisions."""
        return self.right / self.count if self.count else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95% score interval (Wilson) of the share; None for no decisions."""
        if not self.count:
            return None
        share, square = self.right / self.count, Z * Z / self.count
        middle = share + square / 2
        margin = Z * math.sqrt((share * (1 - share) + square / 4) / self.count)
        low, high = (middle - margin) / (1 + square), (middle + margin) / (1 + square)
        return max(0.0, low), min(1.0, high)

    def as_json(self) -> dict[str, Any]:
        """Return the values that the API has."""
        share, interval = self.share, self.interval
        return {
            "count": self.count,
            "right": self.right,
            "share": None if share is None else round(share, 4),
            "interval": interval and tuple(round(end, 4) for end in interval),
        }

    def add(self, verdict: str, number: int) -> None:
        """Add decisions with a verdict."""
        self.count += number
        self.right += number if verdict == RIGHT else 0


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """Verdicts on decisions: of all, of each decision, and by day (its first millisecond)."""

    total: VerdictCount = field(default_factory=VerdictCount)
    by_decision: Mapping[str, VerdictCount] = field(
        default_factory=lambda: {name: VerdictCount() for name in COUNT_COLUMNS}
    )
    by_day: dict[int, VerdictCount] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the values that the API has: of all, and of each decision."""
        return {
            **self.total.as_json(),
            "decisions": {name: judged.as_json() for name, judged in self.by_decision.items()},
        }


def read_verdicts(db: str, period: Period, *, model: str = "", prompt: str = "") -> VerdictSummary:
    """Read the verdicts on a period's decisions from their sums.

    Of one model or prompt version if given.
    """
    start, end = period.moments
    rows = GateVerdictDay.objects.using(db).filter(day__gte=start, day__lte=end)
    filters = {"llm_model": model, "prompt_version": prompt}
    rows = rows.filter(**{name: value for name, value in filters.items() if value})
    verdicts = VerdictSummary()
    for decision, verdict, number in _sum_by(rows, "decision"):
        verdicts.total.add(verdict, number)
        verdicts.by_decision[decision].add(verdict, number)
    for day, verdict, number in _sum_by(rows, "day"):
        verdicts.by_day.setdefault(day, VerdictCount()).add(verdict, number)
    return verdicts


def _sum_by(rows, column):
    return rows.order_by().values_list(column, "verdict").annotate(number=Sum("total"))
