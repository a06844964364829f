"""The chart of each decision's share by day or week, and the strip of verdicts.

Marks show where the prompt changed.
"""

from django.utils.translation import gettext as _

from openclaw_web.lists.filters import start_of
from openclaw_web.pages.charts import Chart, Point, Series
from openclaw_web.pages.formatting import day_in_words, days_in_words
from openclaw_web.pages.small_charts import Strip, dot_strip, share_chart

from ..figures import Figures, monday_of
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
    find_first = monday_of if by == "week" else lambda day: day
    groups, firsts = result.daily.group_by(by), [find_first(part.start) for part in parts]
    changed = {find_first(change.day) for change in result.prompt_changes}
    title = _("Share of each decision by week (UTC)") if by == "week" else _("Share of each decision by day (UTC)")
    return share_chart(
        [
            _make_point(part, tuple(groups.get(start_of(first), Figures()).counts.values()), addresses.decisions(part))
            for first, part in zip(firsts, parts, strict=True)
        ],
        title=title,
        unit=_("Week") if by == "week" else _("Day"),
        series=[Series(decision, tone) for decision, tone in TONES.items()],
        marks=[number for number, first in enumerate(firsts) if first in changed],
    )


def build_verdict_strip(result: StatisticsResult, verdicts: VerdictSummary, addresses: RowAddresses) -> Strip:
    """Build dots for right and wrong decisions of each day or week, with links."""
    _by, parts = _split_period(result)
    judged = [(part, _sum_days(verdicts, part)) for part in parts]
    points = [_make_point(part, (verdict_count.right, verdict_count.wrong)) for part, verdict_count in judged]
    return dot_strip(
        points,
        title=_("Verdicts of people"),
        series=[Series(_("Right"), "ok"), Series(_("Wrong"), "bad")],
        href=lambda index, number: addresses.decisions(parts[index], verdict=("right", "wrong")[number]),
    )


def _sum_days(verdicts, part):
    start, end = part.moments
    days = [verdicts.by_day[day] for day in range(start, end + 1, DAY_MS) if day in verdicts.by_day]
    return VerdictCount(sum(day.count for day in days), sum(day.right for day in days))


def _split_period(result):
    """Return whether bars are days or weeks, and the days of each bar."""
    period = result.daily.period
    by = "week" if result.query.by == "week" or period.days > MOST_BARS else "day"
    return by, list(period.split(is_weekly=by == "week"))


def _make_point(part, values, href=None):
    name = days_in_words(part.start, part.end) if part.days > 1 else day_in_words(part.start)
    return Point(name, day_in_words(part.end, has_year=False), values, href)
