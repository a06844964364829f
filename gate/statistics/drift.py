"""Whether an agent's gate decides otherwise than it did: its last seven full days against the four weeks before."""

from dataclasses import dataclass
from datetime import timedelta

from openclaw_web import clock
from people.configuration import setting_values as configuration

from .figures import DAILY_COLUMNS, DailySums, Period, day_of, read_daily_sums
from .sum_changes import COUNT_COLUMNS

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
        """By how many percentage points it changed."""
        return round(100 * (self.share - self.share_before), 1)


def periods() -> tuple[Period, Period]:
    """The last seven days that have ended, and the four weeks before them."""
    today = day_of(clock.now_ms())
    start = today - timedelta(days=DAYS)
    return Period(start, today - timedelta(days=1)), Period(start - timedelta(days=BEFORE), start - timedelta(days=1))


def find_drifts(db: str, known: DailySums | None = None, *, model: str = "", prompt: str = "") -> list[Drift]:
    """The decisions whose share changed by as much as the settings say, the largest change first.

    `known` are sums of the same model and prompt version that somebody has read already.
    """
    now, before = periods()
    wanted = configuration.get_many(POINTS, DECISIONS)
    if known is None or known.period.start > before.start or known.period.end < now.end:
        known = read_daily_sums(db, Period(before.start, now.end), model=model, prompt=prompt)
    counts, counts_before = _counts(known, now), _counts(known, before)
    total, total_before = counts["total"], counts_before["total"]
    if min(total, total_before) < wanted[DECISIONS]:
        return []
    found = []
    for decision, name in COUNT_COLUMNS.items():
        # In whole numbers: five points are five points.
        change = 100 * abs(counts[name] * total_before - counts_before[name] * total)
        if change >= wanted[POINTS] * total * total_before:
            shares = counts[name] / total, counts_before[name] / total_before
            found.append(Drift(decision, *shares, total, total_before, now, before))
    return sorted(found, key=lambda one: -abs(one.points))


def _counts(known, period):
    """How many of each decision there are in a period, and of all."""
    start, end = period.moments
    places = [DAILY_COLUMNS.index(name) for name in NAMES]
    rows = [[row[place] for place in places] for row in known.rows if start <= row[0] <= end]
    return dict(zip(NAMES, map(sum, zip(*rows, strict=True)), strict=True)) if rows else dict.fromkeys(NAMES, 0)
