"""The chart of decisions by day or week, one colour for each decision, with marks where the prompt changed."""

from datetime import timedelta

from django.utils.translation import gettext as _

from openclaw_web.pages.charts import Chart, Point, Series, bar_chart
from openclaw_web.pages.formatting import day_in_words

from ..answer import Answer
from ..changes import COUNTS
from ..figures import Figures, Period, monday_of, start_of
from .addresses import Rows

MOST_BARS = 100
TONES = {decision: "muted" if decision == "NO_WRITE" else decision for decision in COUNTS}


def chart_of(found: Answer, rows: Rows) -> Chart:
    """Bars of days, or of weeks when these are asked for or the days are too many; a bar leads to its decisions."""
    period = found.daily.period
    by = "week" if found.asked.by == "week" or period.days > MOST_BARS else "day"
    groups = found.daily.by(by)
    parts = list(_parts(period, 7 if by == "week" else 1))
    changed = {monday_of(change.day) if by == "week" else change.day for change in found.prompt_changes}
    title = _("Decisions by week (UTC)") if by == "week" else _("Decisions by day (UTC)")
    return bar_chart(
        [_point(part, groups.get(start_of(first), Figures()), rows) for first, part in parts],
        title=title,
        unit=_("Week") if by == "week" else _("Day"),
        series=[Series(decision, tone) for decision, tone in TONES.items()],
        marks=[number for number, (first, _part) in enumerate(parts) if first in changed],
    )


def _parts(period, days):
    """The first day of each day or week, whether it is within the period or not, and what of it is."""
    first = monday_of(period.start) if days > 1 else period.start
    while first <= period.end:
        last = first + timedelta(days=days - 1)
        yield first, Period(max(first, period.start), min(last, period.end))
        first += timedelta(days=days)


def _point(part, figures, rows):
    name = day_in_words(part.start)
    if part.days > 1:
        name = f"{day_in_words(part.start, has_year=False)} – {day_in_words(part.end)}"
    values = tuple(figures.counts.values())
    return Point(name, day_in_words(part.end, has_year=False), values, rows.decisions(part))
