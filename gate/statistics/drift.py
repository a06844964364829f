"""Compares the gate's last seven full days with the four weeks before."""

from dataclasses import dataclass
from datetime import timedelta

from openclaw_web import clock
from people.configuration import setting_values as configuration

from .figures import DAILY_COLUMNS, DailySums, Period, read_daily_sums
from .sums import COUNT_COLUMNS

DAYS, BEFORE = 7, 28
NAMES = ("total", *COUNT_COLUMNS.values())
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
        """Return the change in percentage points."""
        return round(100 * (self.share - self.share_before), 1)


def periods() -> tuple[Period, Period]:
    """Return the last seven days that have ended, and the four weeks before them."""
    today = clock.day_of(clock.now_ms())
    start = today - timedelta(days=DAYS)
    return Period(start, today - timedelta(days=1)), Period(start - timedelta(days=BEFORE), start - timedelta(days=1))


def find_drifts(db: str, daily_sums: DailySums | None = None, *, model: str = "", prompt: str = "") -> list[Drift]:
    """Return decisions whose share changed by the settings' points, the largest change first.

    `known` are sums of the same model and prompt version that were read already.
    """
    now, before = periods()
    limits = configuration.get_many(POINTS, DECISIONS)
    if daily_sums is None or daily_sums.period.start > before.start or daily_sums.period.end < now.end:
        daily_sums = read_daily_sums(db, Period(before.start, now.end), model=model, prompt=prompt)
    counts, counts_before = _count_decisions(daily_sums, now), _count_decisions(daily_sums, before)
    total, total_before = counts["total"], counts_before["total"]
    if min(total, total_before) < limits[DECISIONS]:
        return []
    changed = []
    for decision, name in COUNT_COLUMNS.items():
        # Whole numbers avoid rounding: a change of exactly five points counts as five.
        change = 100 * abs(counts[name] * total_before - counts_before[name] * total)
        if change >= limits[POINTS] * total * total_before:
            shares = counts[name] / total, counts_before[name] / total_before
            changed.append(Drift(decision, *shares, total, total_before, now, before))
    return sorted(changed, key=lambda drifted: -abs(drifted.points))


def _count_decisions(daily_sums, period):
    """Return how many of each decision there are in a period, and of all."""
    start, end = period.moments
    indexes = [DAILY_COLUMNS.index(name) for name in NAMES]
    rows = [[row[index] for index in indexes] for row in daily_sums.rows if start <= row[0] <= end]
    return dict(zip(NAMES, map(sum, zip(*rows, strict=True)), strict=True)) if rows else dict.fromkeys(NAMES, 0)
