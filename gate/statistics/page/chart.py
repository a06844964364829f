"""The chart of each decision's share by day or week, and the strip of verdicts.

Marks show where the prompt changed.
"""

from datetime import timedelta

from django.utils.translation import gettext as _

from openclaw_web.lists.filters import start_of
from openclaw_web.pages.charts import Chart, Point, Series
from openclaw_web.pages.formatting import day_in_words
from openclaw_web.pages.small_charts import Strip, dot_strip, share_chart

from ..figures import Figures, Period, monday_of
from ..statistics_query import StatisticsResult
from ..sums import COUNT_COLUMNS, DAY_MS
from ..verdict_summary import VerdictCount, VerdictSummary
from .addresses import RowAddresses

MOST_BARS = 100
TONES = {decision: "muted" if decision == "NO_WRITE" else decision for decision in COUNT_COLUMNS}


def build_chart(result: StatisticsResult, addresses: RowAddresses) -> Chart:
    """Build bars of days or weeks; a bar links to its decisions.

    Bars are weeks when the query is by week, or when there are too many days.
    """
    by, parts = _split_period(result)
    groups = result.daily.group_by(by)
    changed = {monday_of(change.day) if by == "week" else change.day for change in result.prompt_changes}
    title = _("Share of each decision by week (UTC)") if by == "week" else _("Share of each decision by day (UTC)")
    return share_chart(
        [_build_point(part, groups.get(start_of(first), Figures()), addresses) for first, part in parts],
        title=title,
        unit=_("Week") if by == "week" else _("Day"),
        series=[Series(decision, tone) for decision, tone in TONES.items()],
        marks=[number for number, (first, _part) in enumerate(parts) if first in changed],
    )


def build_verdict_strip(result: StatisticsResult, verdicts: VerdictSummary, addresses: RowAddresses) -> Strip:
    """Build dots for right and wrong decisions of each day or week, with links."""
    _by, parts = _split_period(result)
    judged = [_sum_days(verdicts, part) for _first, part in parts]
    points = [
        _make_point(part, (verdict_count.right, verdict_count.wrong))
        for (_first, part), verdict_count in zip(parts, judged, strict=True)
    ]
    return dot_strip(
        points,
        title=_("Verdicts of people"),
        series=[Series(_("Right"), "ok"), Series(_("Wrong"), "bad")],
        href=lambda index, number: addresses.decisions(parts[index][1], verdict=("right", "wrong")[number]),
    )


def _sum_days(verdicts, part):
    start, end = part.moments
    days = [verdicts.by_day[day] for day in range(start, end + 1, DAY_MS) if day in verdicts.by_day]
    return VerdictCount(sum(day.count for day in days), sum(day.right for day in days))


def _split_period(result):
    """Return whether bars are days or weeks, and the days of each bar."""
    period = result.daily.period
    by = "week" if result.query.by == "week" or period.days > MOST_BARS else "day"
    return by, list(_iterate_parts(period, 7 if by == "week" else 1))


def _iterate_parts(period, days):
    """Yield each day or week: its first day, and its part within the period."""
    first = monday_of(period.start) if days > 1 else period.start
    while first <= period.end:
        last = first + timedelta(days=days - 1)
        yield first, Period(max(first, period.start), min(last, period.end))
        first += timedelta(days=days)


def _build_point(part, figures, addresses):
    return _make_point(part, tuple(figures.counts.values()), addresses.decisions(part))


def _make_point(part, values, href=None):
    name = day_in_words(part.start)
    if part.days > 1:
        name = f"{day_in_words(part.start, has_year=False)} – {day_in_words(part.end)}"
    return Point(name, day_in_words(part.end, has_year=False), values, href)
