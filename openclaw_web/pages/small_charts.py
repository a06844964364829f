"""Small charts: shares of bars, dots and sparklines.

`ui.chart` draws `share_chart`. The charts without axes are drawn by the macros of their names: `dot_strip` (dots below
a chart) and `sparkline`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from .charts import Chart, Point, Series, Value, bar_chart

LEAST_SPARK = 6  # percent of the height


def share_chart(
    points: Sequence[Point], *, title: str, unit: str, series: Sequence[Series], marks: Sequence[int] = ()
) -> Chart:
    """Bars of one height, which show the share of each series.

    A point without any value has no bar.
    """
    shares = [_compute_shares(point) for point in points]
    chart = bar_chart(shares, title=title, unit=unit, series=series, marks=marks, suffix="%")
    chart.totals = [sum(point.values[i] for point in points) for i in range(len(series))]
    chart.peak = None
    return chart


def _compute_shares(point):
    total = sum(point.values)
    shares = tuple(100 * value / total if total else 0 for value in point.values)
    texts = tuple(f"{value:,} ({share:.0f}%)" for value, share in zip(point.values, shares, strict=True))
    return replace(point, values=shares, value_texts=texts)


@dataclass(frozen=True, slots=True)
class Spot:
    """A dot of a strip: place, size, text and link to its rows."""

    tone: str
    x: float
    y: float
    radius: float
    tip: str
    href: str | None


@dataclass(slots=True)
class Strip:
    """All data that `ui.dot_strip` draws: a line of dots for each series.

    The strip stands below a chart of the same points.
    """

    title: str
    series: Sequence[Series]
    spots: list[Spot] = field(default_factory=list)

    line: ClassVar[int] = 18

    @property
    def height(self):
        """The height of all lines together, in pixels."""
        return self.line * len(self.series)


def dot_strip(
    points: Sequence[Point],
    *,
    title: str,
    series: Sequence[Series],
    href: Callable[[int, int], str | None] = lambda _point, _series: None,
) -> Strip:
    """A dot for each value that is not 0; a greater value has a larger dot.

    `href` gets the number of the point and of the series.
    """
    strip = Strip(title, series)
    most = max((value for point in points for value in point.values), default=0)
    for place, point in enumerate(points):
        for number, (value, part) in enumerate(zip(point.values, series, strict=True)):
            if value:
                x, y = round((place + 0.5) * 100 / len(points), 3), strip.line * (number + 0.5)
                radius, tip = round(3 + 3 * (value / most) ** 0.5, 1), f"{point.name} · {part.label} {value:,}"
                strip.spots.append(Spot(part.tone, x, y, radius, tip, href(place, number)))
    return strip


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Small bars without axes, as an SVG path in a box of 100 by 100.

    `label` says it in words.
    """

    label: str
    path: str


def sparkline(values: Sequence[Value], *, label: str) -> Sparkline | None:
    """Small bars of values from left to right; None when all are 0 or unknown.

    `label` describes the values in words.
    """
    highest = max((value or 0 for value in values), default=0)
    if not highest:
        return None
    band = 100 / len(values)
    path = "".join(
        f"M{number * band + band * 0.1:.1f} 100v-{max(100 * value / highest, LEAST_SPARK):.0f}h{band * 0.8:.1f}V100z"
        for number, value in enumerate(values)
        if value
    )
    return Sparkline(label, path)
