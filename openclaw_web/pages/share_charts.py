"""Shares as bars of one height (`share_chart`, drawn by `ui.chart`), and dots below them (`ui.dot_strip`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from .charts import Chart, Point, Series, bar_chart


def share_chart(
    points: Sequence[Point], *, title: str, unit: str, series: Sequence[Series], marks: Sequence[int] = ()
) -> Chart:
    """Bars of one height: which part of its point each series is. A point without anything has no bar."""
    shares = [_shares(point) for point in points]
    chart = bar_chart(shares, title=title, unit=unit, series=series, marks=marks, suffix="%")
    chart.totals = [sum(point.values[i] for point in points) for i in range(len(series))]
    chart.peak = None
    return chart


def _shares(point):
    total = sum(point.values)
    shares = tuple(100 * value / total if total else 0 for value in point.values)
    said = tuple(f"{value:,} ({share:.0f}%)" for value, share in zip(point.values, shares, strict=True))
    return replace(point, values=shares, said=said)


@dataclass(frozen=True, slots=True)
class Spot:
    """A dot of a strip: where it is, how large, what it says and where its rows are."""

    tone: str
    x: float
    y: float
    radius: float
    tip: str
    href: str | None


@dataclass(slots=True)
class Strip:
    """Everything `ui.dot_strip` draws: a line of dots for each series, below a chart of the same points."""

    title: str
    series: Sequence[Series]
    spots: list[Spot] = field(default_factory=list)

    line: ClassVar[int] = 18

    @property
    def height(self):
        """Of all lines together."""
        return self.line * len(self.series)


def dot_strip(
    points: Sequence[Point],
    *,
    title: str,
    series: Sequence[Series],
    href: Callable[[int, int], str | None] = lambda _point, _series: None,
) -> Strip:
    """A dot for each value that is not 0, the larger the more; `href` gets the numbers of its point and series."""
    strip = Strip(title, series)
    most = max((value for point in points for value in point.values), default=0)
    for place, point in enumerate(points):
        for number, (value, one) in enumerate(zip(point.values, series, strict=True)):
            if value:
                x, y = round((place + 0.5) * 100 / len(points), 3), strip.line * (number + 0.5)
                radius, tip = round(3 + 3 * (value / most) ** 0.5, 1), f"{point.name} · {one.label} {value:,}"
                strip.spots.append(Spot(one.tone, x, y, radius, tip, href(place, number)))
    return strip
