"""Charts as numbers for a template: widths in percent, heights in pixels.

Pure functions, which know no tables. `ui.chart` draws `bar_chart`, `line_chart` and `histogram`. `small_charts` has
charts without axes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

PLOT_HEIGHT = 140
ROOM_ABOVE = 26  # the line for the values of the bar under the pointer
ROOM_BELOW = 24  # the line for the words under the bars
LEAST_HEIGHT = 2  # a bar for 1 stays visible beside one for 1,000
WIDEST_BAR = 3.2
X_LABELS = 5
MOST_IN_TIP = 3
Y_STEPS = 4

Value = int | float | None  # None: unknown, a gap in a line


def _format_plain(value):
    return "–" if value is None else f"{value:,}"


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of a chart; `tone` is a class `series--<tone>`."""

    label: str
    tone: str = "accent"
    is_below: bool = False  # hangs under the zero line
    href: str = ""  # of its name in the legend


@dataclass(frozen=True, slots=True)
class Point:
    """The data of one bar: a value for each series, two names and a link.

    `short` is the name for the axis; `href` leads to the rows behind the bar.
    """

    name: str
    short: str
    values: tuple[Value, ...]
    href: str | None = None
    value_texts: tuple[str, ...] = ()  # the values in words, where these are not plain numbers


@dataclass(frozen=True, slots=True)
class Segment:
    """A coloured piece of a bar."""

    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Dot:
    """The place where a line passes a point."""

    tone: str
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """A series, or all pieces of a tone, as a path 100 wide."""

    tone: str
    path: str  # in a box as high as the chart


@dataclass(frozen=True, slots=True)
class Bar:
    """One point with its place: its band, its pieces or dots, and its texts.

    The band is the area where the pointer meets it.
    """

    name: str
    value_texts: tuple[str, ...]
    tip: str
    href: str | None
    band_x: float
    middle: float
    x: float
    segments: list[Segment] = field(default_factory=list)
    dots: list[Dot] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Label:
    """A word on an axis, or on the highest bar."""

    text: str
    x: float
    y: float
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Band:
    """A range of values across the whole width, shaded."""

    y: float
    height: float


@dataclass(slots=True)
class Chart:
    """All data that `ui.chart` draws. Without any value it has no bars."""

    title: str
    unit: str
    series: Sequence[Series]
    totals: list[str | int]
    bars: list[Bar] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    y_labels: list[Label] = field(default_factory=list)
    x_labels: list[Label] = field(default_factory=list)
    peak: Label | None = None
    band: Band | None = None
    marks: list[float] = field(default_factory=list)
    band_width: float = 0
    bar_width: float = 0
    zero_y: float = 0

    plot_y: ClassVar[int] = ROOM_ABOVE
    plot_height: ClassVar[int] = PLOT_HEIGHT
    height: ClassVar[int] = ROOM_ABOVE + PLOT_HEIGHT + ROOM_BELOW

    @property
    def legend(self):
        """Each series with the sum of its values, or with the latest value of a line."""
        totals = (f"{total:,}" if isinstance(total, int) else total for total in self.totals)
        return list(zip(self.series, totals, strict=True))

    @property
    def shapes(self):
        """The pieces of all bars, merged into one path per tone to keep pages small."""
        paths: dict[str, list[str]] = {}
        for bar in self.bars:
            for piece in bar.segments:
                corner = f"M{bar.x} {piece.y}h{self.bar_width}v{piece.height}h-{self.bar_width}z"
                paths.setdefault(piece.tone, []).append(corner)
        return [Line(tone, "".join(path)) for tone, path in paths.items()]


@dataclass(frozen=True, slots=True)
class _Frame:
    # The scale that all bars of one chart share.
    series: Sequence[Series]
    count: int
    above: float
    below: float
    is_packed: bool = False
    is_line: bool = False
    in_words: Callable[[Value], str] = _format_plain
    on_axis: Callable[[int], str] | None = None  # else short numbers
    suffix: str = ""  # of the labels of the axis

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
        return self.band * 0.96 if self.is_packed else min(self.band * 0.72, WIDEST_BAR)


def bar_chart(
    points: Sequence[Point],
    *,
    title: str,
    unit: str,
    series: Sequence[Series],
    marks: Sequence[int] = (),
    suffix: str = "",
    in_words: Callable[[Value], str] | None = None,
) -> Chart:
    """Bars of up to six stacked series, in the order of `Point.values`.

    `unit` names what a bar stands for: a day, a week.

    A dashed line stands before each point whose number is in `marks`. `suffix` follows the numbers of the axis;
    `in_words` formats values that are no plain numbers.
    """
    if not 1 <= len(series) <= 6:
        raise ValueError("A bar chart has one to six series.")
    totals = [sum(point.values[i] for point in points) for i in range(len(series))]
    chart = Chart(title, unit, series, [in_words(total) for total in totals] if in_words else totals)
    if any(totals):
        above = [_sum_side(point, series, is_below=False) for point in points]
        below = [_sum_side(point, series, is_below=True) for point in points]
        words = {"in_words": in_words, "on_axis": in_words} if in_words else {"suffix": suffix}
        _place_bars(chart, points, _Frame(series, len(points), max(above), max(below), **words))
        chart.marks = [chart.bars[index].band_x for index in marks]
    return chart


def histogram(points: Sequence[Point], *, title: str, unit: str, tone: str = "accent", label: str) -> Chart:
    """The number of values in each range, as bars side by side."""
    series = [Series(label, tone)]
    chart = Chart(title, unit, series, [sum(point.values[0] for point in points)])
    if any(chart.totals):
        highest = max(point.values[0] for point in points)
        _place_bars(chart, points, _Frame(series, len(points), highest, 0, is_packed=True))
    return chart


def line_chart(
    points: Sequence[Point],
    *,
    title: str,
    unit: str,
    series: Sequence[Series],
    in_words: Callable[[Value], str] = _format_plain,
    band: tuple[float, float] | None = None,
    marks: Sequence[int] = (),
) -> Chart:
    """A line for each of up to four series, from zero up; None is a gap.

    `in_words` formats a value.

    `band` is a range of values to shade. A dashed line stands at each point whose number is in `marks`.
    """
    if not 1 <= len(series) <= 4:
        raise ValueError("A line chart has one to four series.")
    known = [value for point in points for value in point.values if value is not None]
    last = points[-1].values if points else ()
    chart = Chart(title, unit, series, [in_words(value) for value in last] or [""] * len(series))
    if known:
        frame = _Frame(series, len(points), max([*known, 1]), 0, is_line=True, in_words=in_words)
        _place_bars(chart, points, frame)
        chart.lines = [Line(line_series.tone, _build_path(points, i, frame)) for i, line_series in enumerate(series)]
        chart.marks = [chart.bars[index].middle for index in marks]
        if band:
            low, high = (_compute_y(min(value, frame.above), frame) for value in band)
            chart.band = Band(high, max(round(low - high, 1), LEAST_HEIGHT))
    return chart


def _place_bars(chart, points, frame):
    chart.zero_y = frame.zero_y
    chart.band_width = round(frame.band, 3)
    chart.bar_width = round(frame.bar, 3)
    draw = _place_dots if frame.is_line else _place_bar
    chart.bars = [draw(point, i, frame) for i, point in enumerate(points)]
    step = round_step((frame.above + frame.below) / Y_STEPS)
    values = range(-int(frame.below // step) * step, int(frame.above) + 1, step)
    write = frame.on_axis or short_number
    chart.y_labels = [
        Label(
            (write(abs(value)) if value else "0") + frame.suffix, 0, round(frame.zero_y - value * frame.scale, 1), "end"
        )
        for value in values
    ]
    chart.x_labels = [_build_x_label(points[i].short, i, frame, chart.height - 6) for i in _choose_labels(len(points))]
    if frame.above and not frame.is_line:
        heights = [_sum_side(point, chart.series, is_below=False) for point in points]
        top = round(frame.zero_y - frame.above * frame.scale - 4, 1)
        highest = frame.in_words(frame.above) if frame.on_axis else f"{frame.above:,}"
        chart.peak = _build_x_label(highest, heights.index(frame.above), frame, top)


def _sum_side(point, series, *, is_below):
    return sum(value for value, bar_series in zip(point.values, series, strict=True) if bar_series.is_below == is_below)


def _place_bar(point, index, frame):
    top = bottom = frame.zero_y
    segments = []
    for value, bar_series in zip(point.values, frame.series, strict=True):
        if not value:
            continue
        height = round(max(value * frame.scale, LEAST_HEIGHT), 1)
        if bar_series.is_below:
            segments.append(Segment(bar_series.tone, round(bottom, 1), height))
            bottom += height
        else:
            top -= height
            segments.append(Segment(bar_series.tone, round(top, 1), height))
    return _build_bar(point, index, frame, href=point.href if segments else None, segments=segments)


def _place_dots(point, index, frame):
    pairs = zip(point.values, frame.series, strict=True)
    dots = [Dot(line_series.tone, _compute_y(value, frame)) for value, line_series in pairs if value is not None]
    return _build_bar(point, index, frame, href=point.href if dots else None, dots=dots)


def _build_bar(point, index, frame, **shapes):
    texts = point.value_texts or tuple(frame.in_words(value) for value in point.values)
    pairs = zip(frame.series, texts, point.values, strict=True)
    # With many series the tip lists only those with a value, because it has one line.
    words = [
        f"{bar_series.label} {value}" for bar_series, value, amount in pairs if amount or len(texts) <= MOST_IN_TIP
    ]
    return Bar(
        name=point.name,
        value_texts=texts,
        tip=" · ".join([point.name, *words]),
        band_x=round(index * frame.band, 3),
        middle=round((index + 0.5) * frame.band, 3),
        x=round(index * frame.band + (frame.band - frame.bar) / 2, 3),
        **shapes,
    )


def _compute_y(value, frame):
    return round(frame.zero_y - value * frame.scale, 1)


def _build_path(points, number, frame):
    # A single point between gaps has no line; its dot shows it.
    path, is_drawing = [], False
    for index, point in enumerate(points):
        value = point.values[number]
        if value is not None:
            path.append(
                f"{'L' if is_drawing else 'M'}{round((index + 0.5) * frame.band, 3)} {_compute_y(value, frame)}"
            )
        is_drawing = value is not None
    return "".join(path)


def _build_x_label(text, index, frame, y):
    middle = (index + 0.5) * frame.band
    if middle < 4:
        return Label(text, 0, y, "start")
    if middle > 96:
        return Label(text, 100, y, "end")
    return Label(text, round(middle, 2), y)


def _choose_labels(count):
    labels = min(X_LABELS, count)
    if count > labels and (count - 1) % (labels - 1) and not (count - 1) % (labels - 2):
        labels -= 1  # then all labels have the same distance
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
    """A number that fits beside an axis: `950`, `1.5k`, `20k`, `3M`."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:.1f}".removesuffix(".0") + letter
    return str(value)
