"""The share of each decision by day or week, with marks where the prompt changed, and the verdicts of people below."""

from datetime import timedelta

from django.utils.translation import gettext as _

from openclaw_web.pages.charts import Chart, Point, Series
from openclaw_web.pages.formatting import day_in_words
from openclaw_web.pages.small_charts import Strip, dot_strip, share_chart

from ..figures import Figures, Period, monday_of, start_of
from ..statistics_query import StatisticsResult
from ..sum_changes import COUNT_COLUMNS, DAY_MS
from ..verdict_summary import VerdictCount, VerdictSummary
from .addresses import RowAddresses

MOST_BARS = 100
TONES = {decision: "muted" if decision == "NO_WRITE" else decision for decision in COUNT_COLUMNS}


def build_chart(found: StatisticsResult, rows: RowAddresses) -> Chart:
    """Bars of days, or of weeks when these are asked for or the days are too many; a bar leads to its decisions."""
    by, parts = _parts_of(found)
    groups = found.daily.by(by)
    changed = {monday_of(change.day) if by == "week" else change.day for change in found.prompt_changes}
    title = _("Share of each decision by week (UTC)") if by == "week" else _("Share of each decision by day (UTC)")
    return share_chart(
        [_point(part, groups.get(start_of(first), Figures()), rows) for first, part in parts],
        title=title,
        unit=_("Week") if by == "week" else _("Day"),
        series=[Series(decision, tone) for decision, tone in TONES.items()],
        marks=[number for number, (first, _part) in enumerate(parts) if first in changed],
    )


def build_verdict_strip(found: StatisticsResult, verdicts: VerdictSummary, rows: RowAddresses) -> Strip:
    """A dot for the right and one for the wrong decisions of each day or week, with the way to them."""
    _by, parts = _parts_of(found)
    judged = [_sum_days(verdicts, part) for _first, part in parts]
    points = [_make_point(part, (one.right, one.wrong)) for (_first, part), one in zip(parts, judged, strict=True)]
    return dot_strip(
        points,
        title=_("Verdicts of people"),
        series=[Series(_("Right"), "ok"), Series(_("Wrong"), "bad")],
        href=lambda place, number: rows.decisions(parts[place][1], verdict=("right", "wrong")[number]),
    )


def _sum_days(verdicts, part):
    start, end = part.moments
    days = [verdicts.by_day[day] for day in range(start, end + 1, DAY_MS) if day in verdicts.by_day]
    return VerdictCount(sum(day.count for day in days), sum(day.right for day in days))


def _parts_of(found):
    """What a bar is, and the days of each."""
    period = found.daily.period
    by = "week" if found.asked.by == "week" or period.days > MOST_BARS else "day"
    return by, list(_parts(period, 7 if by == "week" else 1))


def _parts(period, days):
    """The first day of each day or week, whether it is within the period or not, and what of it is."""
    first = monday_of(period.start) if days > 1 else period.start
    while first <= period.end:
        last = first + timedelta(days=days - 1)
        yield first, Period(max(first, period.start), min(last, period.end))
        first += timedelta(days=days)


def _point(part, figures, rows):
    return _make_point(part, tuple(figures.counts.values()), rows.decisions(part))


def _make_point(part, values, href=None):
    name = day_in_words(part.start)
    if part.days > 1:
        name = f"{day_in_words(part.start, has_year=False)} – {day_in_words(part.end)}"
    return Point(name, day_in_words(part.end, has_year=False), values, href)
