"""Charts as numbers for a template: shares of the width in percent, heights in pixels. Pure; knows no tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

PLOT_HEIGHT = 140
ROOM_ABOVE = 26  # the line that a pointed-at bar is read out on
ROOM_BELOW = 24  # the words under the bars
LEAST_HEIGHT = 2  # one of something must be seen beside a thousand
WIDEST_BAR = 3.2
X_LABELS = 5
Y_STEPS = 4


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of a chart; `tone` is a class `series--<tone>`, and `is_below` hangs it under the zero line."""

    label: str
    tone: str = "accent"
    is_below: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """What one bar shows: a value for each series, its name in full, a short one for the axis, where its rows are."""

    name: str
    short: str
    values: tuple[int, ...]
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A coloured piece of a bar."""

    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One point, placed: its band (where the pointer meets it), its pieces, and what it says."""

    name: str
    values: tuple[int, ...]
    tip: str
    href: str | None
    band_x: float
    x: float
    segments: list[Segment]


@dataclass(frozen=True, slots=True)
class Label:
    """A word on an axis, or on the highest bar."""

    text: str
    x: float
    y: float
    anchor: str = "middle"


@dataclass(slots=True)
class Chart:
    """Everything `components/chart.html` draws; without a single value it has no bars."""

    title: str
    unit: str
    series: Sequence[Series]
    totals: list[int]
    bars: list[Bar] = field(default_factory=list)
    y_labels: list[Label] = field(default_factory=list)
    x_labels: list[Label] = field(default_factory=list)
    peak: Label | None = None
    band_width: float = 0
    bar_width: float = 0
    zero_y: float = 0

    plot_y: ClassVar[int] = ROOM_ABOVE
    plot_height: ClassVar[int] = PLOT_HEIGHT
    height: ClassVar[int] = ROOM_ABOVE + PLOT_HEIGHT + ROOM_BELOW

    @property
    def legend(self):
        """Each series with the sum of its values."""
        return list(zip(self.series, self.totals, strict=True))


@dataclass(frozen=True, slots=True)
class _Frame:
    # How values become places: what all bars of one chart share.
    series: Sequence[Series]
    count: int
    above: int
    below: int

    @property
    def scale(self):
        return PLOT_HEIGHT / (self.above + self.below)

    @property
    def zero_y(self):
        return round(ROOM_ABOVE + self.above * self.scale, 1)

    @property
    def band(self):
        return 100 / self.count

    @property
    def bar(self):
        return min(self.band * 0.72, WIDEST_BAR)


def bar_chart(
    points: Sequence[Point],
    *,
    title: str,
    unit: str,
    series: Sequence[Series],
) -> Chart:
    """Bars of up to three stacked series, the order of `Point.values`; `unit` says what one bar is: a day, a week."""
    if not 1 <= len(series) <= 3:
        raise ValueError("A bar chart has one to three series.")
    totals = [sum(point.values[i] for point in points) for i in range(len(series))]
    chart = Chart(title, unit, series, totals)
    if any(totals):
        _place(chart, points)
    return chart


def _place(chart, points):
    above = [_reach(point, chart.series, is_below=False) for point in points]
    below = [_reach(point, chart.series, is_below=True) for point in points]
    frame = _Frame(chart.series, len(points), max(above), max(below))
    chart.zero_y = frame.zero_y
    chart.band_width = round(frame.band, 3)
    chart.bar_width = round(frame.bar, 3)
    chart.bars = [_bar(point, i, frame) for i, point in enumerate(points)]
    chart.y_labels = _y_labels(frame)
    chart.x_labels = [_x_label(points[i].short, i, frame, chart.height - 6) for i in _spread_out(len(points))]
    if frame.above:
        top = round(frame.zero_y - frame.above * frame.scale - 4, 1)
        chart.peak = _x_label(f"{frame.above:,}", above.index(frame.above), frame, top)


def _reach(point, series, *, is_below):
    return sum(value for value, one in zip(point.values, series, strict=True) if one.is_below == is_below)


def _bar(point, index, frame):
    segments = _segments(point, frame)
    said = [f"{one.label} {value:,}" for value, one in zip(point.values, frame.series, strict=True)]
    return Bar(
        name=point.name,
        values=point.values,
        tip=" · ".join([point.name, *said]),
        href=point.href if segments else None,
        band_x=round(index * frame.band, 3),
        x=round(index * frame.band + (frame.band - frame.bar) / 2, 3),
        segments=segments,
    )


def _segments(point, frame):
    top = bottom = frame.zero_y
    segments = []
    for value, one in zip(point.values, frame.series, strict=True):
        if not value:
            continue
        height = round(max(value * frame.scale, LEAST_HEIGHT), 1)
        if one.is_below:
            segments.append(Segment(one.tone, round(bottom, 1), height))
            bottom += height
        else:
            top -= height
            segments.append(Segment(one.tone, round(top, 1), height))
    return segments


def _y_labels(frame):
    step = round_step((frame.above + frame.below) / Y_STEPS)
    values = range(-(frame.below // step) * step, frame.above + 1, step)
    return [Label(short_number(abs(value)), 0, round(frame.zero_y - value * frame.scale, 1), "end") for value in values]


def _x_label(text, index, frame, y):
    middle = (index + 0.5) * frame.band
    if middle < 4:
        return Label(text, 0, y, "start")
    if middle > 96:
        return Label(text, 100, y, "end")
    return Label(text, round(middle, 2), y)


def _spread_out(count):
    labels = min(X_LABELS, count)
    return sorted({round(i * (count - 1) / max(labels - 1, 1)) for i in range(labels)})


def round_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not below `least`."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= least:
                return digit * power
        power *= 10


def short_number(value: int) -> str:
    """`950`, `1.5k`, `20k`, `3M`: what fits beside an axis."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:.1f}".removesuffix(".0") + letter
    return str(value)
