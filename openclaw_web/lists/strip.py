"""The bars above a list: its rows by day, or by hour, for the filters in force.

`count_by_time` knows nothing of pages: counts of several listings are added up, and `draw_strip` draws their sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import OperationalError
from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Subquery
from django.utils.translation import gettext as _

from .. import clock
from ..pages import formatting
from ..pages.charts import Chart, Point, Series, bar_chart
from ..pages.small_charts import Sparkline, sparkline
from ..sqlite.time_limits import time_box
from .filters import DAY_MS, MINUTE, DayFilters
from .paging import Listing

HOUR_MS = 3_600_000
MOST_BARS = 60
LEAST_BARS = 30  # so that few bars are no blocks
INLINE_MS, ALONE_MS = 8, 1_000  # the longest that a page waits for its bars, and the request for nothing else


@dataclass(frozen=True, slots=True)
class Strip:
    """The bars with their names and links (`chart`), and their shape (`spark`)."""

    chart: Chart
    spark: Sparkline | None


def get_moment(filters: type[DayFilters] | DayFilters) -> str:
    """The column of a list's days, by which it is ordered."""
    return filters.ORDERS[filters.DEFAULT.removeprefix("-")][0]


def choose_unit(filters: DayFilters) -> int:
    """Milliseconds of a bar: an hour where the filters cover two days at most, else a day."""
    since, until = filters.moments.values()
    return HOUR_MS if since and (until or clock.now_ms()) - since <= 2 * DAY_MS else DAY_MS


def count_by_time(listing: Listing, moment: str, unit: int, budget_ms: int) -> dict[int, int] | None:
    """`{first ms of a day or hour: rows}` for the MOST_BARS up to the newest row; None when the time was up."""
    rows = listing.all.order_by()
    newest = Subquery(listing.all.order_by(f"-{moment}").values(moment)[:1], output_field=BigIntegerField())
    bar = ExpressionWrapper(F(moment) / unit, output_field=BigIntegerField())
    rows = rows.filter(**{f"{moment}__gte": (newest / unit - (MOST_BARS - 1)) * unit})
    with time_box(rows.db, budget_ms) as is_up:
        try:
            counts = rows.values(bar=bar).annotate(rows=Count("*")).values_list("bar", "rows")
            return {bar * unit: count for bar, count in counts}
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return None


def draw_strip(counts: Mapping[int, int], filters: DayFilters, unit: int) -> Strip | None:
    """At most MOST_BARS up to the newest count, each a link that sets the days; None when there is only one."""
    if len(counts) < 2:
        return None
    newest = max(counts)
    begin = max(newest - (MOST_BARS - 1) * unit, min(counts))
    moments = range(min(begin, newest - (LEAST_BARS - 1) * unit), newest + 1, unit)
    address = filters.query_with(**{"from": "\0f", "to": "\0t"})
    points = []
    for at in moments:
        if at not in counts and at != moments[0]:  # most lists have many of these
            points.append(Point("", "", (0,)))
            continue
        start, end = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (at, at + unit - 1))
        name, form = formatting.day_in_words(start.date()), "%Y-%m-%d"
        if unit == HOUR_MS:
            name, form = f"{name} {start:%H:%M} UTC", MINUTE.replace(":", "%%3A")
        href = address.replace("%00f", f"{start:{form}}").replace("%00t", f"{end:{form}}")
        points.append(Point(name, name, (counts.get(at, 0),), href if at in counts else None))
    title, word = (_("Rows by day (UTC)"), _("Day")) if unit == DAY_MS else (_("Rows by hour (UTC)"), _("Hour"))
    chart = bar_chart(points, title=title, unit=word, series=[Series(_("Rows"), "muted")])
    return Strip(chart, sparkline([counts.get(at, 0) for at in moments], label=""))
