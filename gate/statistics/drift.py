"""Whether an agent's gate decides otherwise than it did: its last seven full days against the four weeks before."""

from dataclasses import dataclass
from datetime import timedelta

from openclaw_web import clock
from people.configuration import keys as configuration

from ..models import GateDay
from .changes import COUNTS
from .figures import Period, day_of

DAYS, BEFORE = 7, 28
POINTS, DECISIONS = "memoryGate.driftPoints", "memoryGate.driftDecisions"


@dataclass(frozen=True, slots=True)
class Drift:
    """A decision whose share changed; shares are from 0 to 1."""

    decision: str
    share: float
    share_before: float
    decisions: int
    decisions_before: int
    period: Period
    period_before: Period

    @property
    def points(self) -> float:
        """By how many percentage points it changed."""
        return round(100 * (self.share - self.share_before), 1)


def periods() -> tuple[Period, Period]:
    """The last seven days that have ended, and the four weeks before them."""
    today = day_of(clock.now_ms())
    start = today - timedelta(days=DAYS)
    return Period(start, today - timedelta(days=1)), Period(start - timedelta(days=BEFORE), start - timedelta(days=1))


def drifts(db: str, *, model: str = "", prompt: str = "") -> list[Drift]:
    """The decisions whose share changed by as much as the settings say, the largest change first."""
    now, before = periods()
    wanted = configuration.several(POINTS, DECISIONS)
    counts, counts_before = _counts(db, now, before, model, prompt)
    total, total_before = counts["total"], counts_before["total"]
    if min(total, total_before) < wanted[DECISIONS]:
        return []
    found = []
    for decision, name in COUNTS.items():
        # In whole numbers: five points are five points.
        change = 100 * abs(counts[name] * total_before - counts_before[name] * total)
        if change >= wanted[POINTS] * total * total_before:
            shares = counts[name] / total, counts_before[name] / total_before
            found.append(Drift(decision, *shares, total, total_before, now, before))
    return sorted(found, key=lambda one: -abs(one.points))


def _counts(db, now, before, model, prompt):
    names = ("total", *COUNTS.values())
    start, (middle, end) = before.moments[0], now.moments
    rows = GateDay.objects.using(db).filter(day__gte=start, day__lte=end)
    only = {"llm_model": model, "prompt_version": prompt}
    rows = rows.filter(**{name: value for name, value in only.items() if value})
    counts, counts_before = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for day, *numbers in rows.values_list("day", *names):
        found = counts if day >= middle else counts_before
        for name, number in zip(names, numbers, strict=True):
            found[name] += number
    return counts, counts_before
