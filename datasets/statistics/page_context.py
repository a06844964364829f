"""Context of the page of statistics: numbers as text, with links to their samples."""

from itertools import dropwhile
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from gate.statistics.figures import Period
from openclaw_web.pages import charts
from openclaw_web.pages.charts import Chart, Point, Series
from openclaw_web.pages.formatting import day_in_words, days_in_words, duration, number

from ..models import DatasetSample
from ..words import STATUS_WORDS, TYPE_WORDS
from .figures import APPROVED, REJECTED, Labeller, Part, Statistics

STATUS_TONES = {
    DatasetSample.Status.PENDING: "muted",
    DatasetSample.Status.APPROVED: "ok",
    DatasetSample.Status.REJECTED: "bad",
    DatasetSample.Status.NEEDS_REVIEW: "warn",
    DatasetSample.Status.AUTO_APPROVED: "info",
}
UNDONE_STATUS = ""


class Cell(NamedTuple):
    """A number as text, and the address of the samples that it counts (None: no link)."""

    text: str
    href: str | None = None


def build_page_context(statistics: Statistics) -> dict[str, Any]:
    """Build the context of the page."""
    # The axis begins with the first day that has something.
    parts = list(dropwhile(lambda part: not (part.created or part.verdicts), statistics.read_parts()))
    statuses = [status for status in STATUS_WORDS if statistics.by_status[status]]
    has_undone = bool(statistics.by_status[UNDONE_STATUS])
    # Verdicts by day or week: approvals, rejections and others.
    series = [
        Series(STATUS_WORDS[DatasetSample.Status.APPROVED], "ok"),
        Series(STATUS_WORDS[DatasetSample.Status.REJECTED], "bad"),
        Series(_("Other"), "muted"),
    ]
    points = []
    for part in parts:
        approved, rejected = part.verdicts[APPROVED], part.verdicts[REJECTED]
        values = (approved, rejected, part.verdicts.total() - approved - rejected)
        points.append(_build_point(part.period, values, is_linked=False))
    title = _("Verdicts by week (UTC)") if statistics.is_weekly else _("Verdicts by day (UTC)")
    return {
        "statistics": statistics,
        "period": statistics.period,
        "created": _build_cell(statistics.by_type.total(), statistics.period),
        "verdict_count": sum(row.count for row in statistics.verdicts),
        "created_chart": _build_created_chart(parts, statistics),
        "verdict_chart": charts.bar_chart(points, title=title, unit=_name_unit(statistics), series=series),
        "statuses": [STATUS_WORDS[status] for status in statuses],
        "status_words": STATUS_WORDS,
        "has_undone": has_undone,
        "type_rows": _build_type_rows(statistics, statuses, has_undone=has_undone),
        "score_chart": _build_score_chart(statistics),
        "labeller_rows": [_build_labeller_row(labeller) for labeller in statistics.labellers],
    }


def _build_cell(count, period, **filters):
    """A number with the address of the list of its samples."""
    days = {"from": period.start, "to": period.end}
    return Cell(number(count), f"{reverse('datasets:sample_list')}?{urlencode(filters | days)}" if count else None)


def _build_type_rows(statistics, statuses, *, has_undone):
    """A row for each type, and one for all.

    No list has the samples whose only verdict was undone: their numbers have no link.
    """
    rows = []
    for name in ("", *(name for name in TYPE_WORDS if statistics.by_type[name])):
        counts, only = (statistics.by_both, {"type": name}) if name else (statistics.by_status, {})
        total = statistics.by_type[name] if name else statistics.by_type.total()
        cells = [_build_cell(total, statistics.period, **only)]
        cells += [
            _build_cell(counts[(name, status) if name else status], statistics.period, status=status.value, **only)
            for status in statuses
        ]
        if has_undone:
            cells.append(Cell(number(counts[(name, UNDONE_STATUS) if name else UNDONE_STATUS])))
        rows.append((TYPE_WORDS[name] if name else _("All types"), cells))
    return [*rows[1:], rows[0]]


def _build_created_chart(parts: list[Part], statistics: Statistics) -> Chart:
    """Created samples by day or week and by status; a bar links to its samples."""
    series = [Series(STATUS_WORDS[status], tone) for status, tone in STATUS_TONES.items()]
    points = [
        _build_point(part.period, tuple(part.created[status] for status in STATUS_TONES), is_linked=True)
        for part in parts
    ]
    if statistics.by_status[UNDONE_STATUS]:
        series.append(Series(_("Verdict undone"), "accent"))
        points = [
            _build_point(part.period, (*point.values, part.created[UNDONE_STATUS]), is_linked=True)
            for part, point in zip(parts, points, strict=True)
        ]
    title = _("Created samples by week (UTC)") if statistics.is_weekly else _("Created samples by day (UTC)")
    return charts.bar_chart(points, title=title, unit=_name_unit(statistics), series=series)


def _build_point(period: Period, values: tuple[int, ...], *, is_linked: bool) -> Point:
    name = day_in_words(period.start)
    if period.days > 1:
        name = days_in_words(period.start, period.end)
    href = _build_cell(sum(values), period).href if is_linked else None
    return Point(name, day_in_words(period.end, has_year=False), values, href)


def _build_score_chart(statistics: Statistics) -> Chart | None:
    """All samples by tenths of their score; None: no sample has a score."""
    if not any(statistics.scores):
        return None
    width = 1 / len(statistics.scores)
    points = [
        Point(f"{place * width:.1f} – {(place + 1) * width:.1f}", f"{place * width:.1f}", (count,))
        for place, count in enumerate(statistics.scores)
    ]
    return charts.histogram(points, title=_("Samples by quality score"), unit=_("Score"), label=_("Samples"))


def _build_labeller_row(labeller: Labeller) -> dict[str, Any]:
    share, seconds = labeller.approve_share, labeller.median_seconds
    return {
        "name": labeller.name,
        "href": f"{reverse('datasets:sample_list')}?{urlencode({'by': labeller.name})}",
        "verdicts": number(labeller.count),
        "approved": number(labeller.verdicts[APPROVED]),
        "rejected": number(labeller.verdicts[REJECTED]),
        "share": "–" if share is None else f"{100 * share:.0f}%",
        "seconds": "–" if not seconds else duration(seconds * 1000),
    }


def _name_unit(statistics):
    return _("Week") if statistics.is_weekly else _("Day")
