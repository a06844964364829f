"""Charts as numbers for a template: shares of the width in percent, heights in pixels. Pure; knows no tables.

`bar_chart`, `line_chart` and `histogram` are drawn by `ui.chart`. `small_charts` has those without axes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

PLOT_HEIGHT = 140
ROOM_ABOVE = 26  # the line that a pointed-at bar is read out on
ROOM_BELOW = 24  # the words under the bars
LEAST_HEIGHT = 2  # one of something must be seen beside a thousand
WIDEST_BAR = 3.2
X_LABELS = 5
MOST_IN_TIP = 3
Y_STEPS = 4

Value = int | float | None  # None: not known, a gap in a line


def _plain(value):
    return "–" if value is None else f"{value:,}"


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
    values: tuple[Value, ...]
    href: str | None = None
    said: tuple[str, ...] = ()  # the values in words, where these are not just the numbers


@dataclass(frozen=True, slots=True)
class Segment:
    """A coloured piece of a bar."""

    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Dot:
    """Where a line passes a point."""

    tone: str
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """A series, or all pieces of one tone, as an SVG path in a box that is 100 wide and as high as the chart."""

    tone: str
    path: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One point, placed: its band (where the pointer meets it), its pieces or dots, and what it says."""

    name: str
    said: tuple[str, ...]
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
    """Everything `ui.chart` draws; without a single value it has no bars."""

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
        """Each series with the sum of its values; of a line, its latest value."""
        totals = (f"{total:,}" if isinstance(total, int) else total for total in self.totals)
        return list(zip(self.series, totals, strict=True))

    @property
    def shapes(self):
        """The pieces of all bars, those of one tone as one path: a page with many bars stays small."""
        paths: dict[str, list[str]] = {}
        for bar in self.bars:
            for piece in bar.segments:
                corner = f"M{bar.x} {piece.y}h{self.bar_width}v{piece.height}h-{self.bar_width}z"
                paths.setdefault(piece.tone, []).append(corner)
        return [Line(tone, "".join(path)) for tone, path in paths.items()]


@dataclass(frozen=True, slots=True)
class _Frame:
    # How values become places: what all bars of one chart share.
    series: Sequence[Series]
    count: int
    above: float
    below: float
    is_packed: bool = False
    is_line: bool = False
    in_words: Callable[[Value], str] = _plain
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
    """Bars of up to six stacked series, the order of `Point.values`; `unit` says what one bar is: a day, a week.

    A dashed line stands before each point that `marks` numbers; `suffix` follows the numbers of the axis, `in_words`
    writes values that are no plain numbers.
    """
    if not 1 <= len(series) <= 6:
        raise ValueError("A bar chart has one to six series.")
    totals = [sum(point.values[i] for point in points) for i in range(len(series))]
    chart = Chart(title, unit, series, [in_words(total) for total in totals] if in_words else totals)
    if any(totals):
        above = [_reach(point, series, is_below=False) for point in points]
        below = [_reach(point, series, is_below=True) for point in points]
        words = {"in_words": in_words, "on_axis": in_words} if in_words else {"suffix": suffix}
        _place(chart, points, _Frame(series, len(points), max(above), max(below), **words))
        chart.marks = [chart.bars[index].band_x for index in marks]
    return chart


def histogram(points: Sequence[Point], *, title: str, unit: str, tone: str = "accent", label: str) -> Chart:
    """How many there are in each range: bars side by side. See `ranges_of` for values that are not counted yet."""
    series = [Series(label, tone)]
    chart = Chart(title, unit, series, [sum(point.values[0] for point in points)])
    if any(chart.totals):
        highest = max(point.values[0] for point in points)
        _place(chart, points, _Frame(series, len(points), highest, 0, is_packed=True))
    return chart


def ranges_of(values: Sequence[float], *, at_most: int = 12) -> list[Point]:
    """Whole-numbered ranges of one width that together hold all `values`, with how many each holds."""
    if not values:
        return []
    width = round_step((max(values) - min(values)) / (at_most - 1))
    counts: dict[int, int] = {}
    for value in values:
        counts[int(value // width)] = counts.get(int(value // width), 0) + 1
    return [
        Point(f"{n * width:,} – {(n + 1) * width:,}", short_number(n * width), (counts.get(n, 0),))
        for n in range(min(counts), max(counts) + 1)
    ]


def line_chart(
    points: Sequence[Point],
    *,
    title: str,
    unit: str,
    series: Sequence[Series],
    in_words: Callable[[Value], str] = _plain,
    band: tuple[float, float] | None = None,
    marks: Sequence[int] = (),
) -> Chart:
    """A line for each of up to four series, from zero up; a None is a gap. `in_words` writes a value.

    `band` is a range of values to shade; a dashed line stands at each point that `marks` numbers.
    """
    if not 1 <= len(series) <= 4:
        raise ValueError("A line chart has one to four series.")
    known = [value for point in points for value in point.values if value is not None]
    last = points[-1].values if points else ()
    chart = Chart(title, unit, series, [in_words(value) for value in last] or [""] * len(series))
    if known:
        frame = _Frame(series, len(points), max([*known, 1]), 0, is_line=True, in_words=in_words)
        _place(chart, points, frame)
        chart.lines = [Line(one.tone, _path(points, i, frame)) for i, one in enumerate(series)]
        chart.marks = [chart.bars[index].middle for index in marks]
        if band:
            low, high = (_y(min(value, frame.above), frame) for value in band)
            chart.band = Band(high, max(round(low - high, 1), LEAST_HEIGHT))
    return chart


def _place(chart, points, frame):
    chart.zero_y = frame.zero_y
    chart.band_width = round(frame.band, 3)
    chart.bar_width = round(frame.bar, 3)
    draw = _dotted if frame.is_line else _bar
    chart.bars = [draw(point, i, frame) for i, point in enumerate(points)]
    chart.y_labels = _y_labels(frame)
    chart.x_labels = [_x_label(points[i].short, i, frame, chart.height - 6) for i in _spread_out(len(points))]
    if frame.above and not frame.is_line:
        heights = [_reach(point, chart.series, is_below=False) for point in points]
        top = round(frame.zero_y - frame.above * frame.scale - 4, 1)
        highest = frame.in_words(frame.above) if frame.on_axis else f"{frame.above:,}"
        chart.peak = _x_label(highest, heights.index(frame.above), frame, top)


def _reach(point, series, *, is_below):
    return sum(value for value, one in zip(point.values, series, strict=True) if one.is_below == is_below)


def _bar(point, index, frame):
    segments = _segments(point, frame)
    return _at(point, index, frame, href=point.href if segments else None, segments=segments)


def _dotted(point, index, frame):
    pairs = zip(point.values, frame.series, strict=True)
    dots = [Dot(one.tone, _y(value, frame)) for value, one in pairs if value is not None]
    return _at(point, index, frame, href=point.href if dots else None, dots=dots)


def _at(point, index, frame, **drawn):
    said = point.said or tuple(frame.in_words(value) for value in point.values)
    pairs = zip(frame.series, said, point.values, strict=True)
    # Of many series the tip says only what is there: it has one line.
    words = [f"{one.label} {value}" for one, value, amount in pairs if amount or len(said) <= MOST_IN_TIP]
    return Bar(
        name=point.name,
        said=said,
        tip=" · ".join([point.name, *words]),
        band_x=round(index * frame.band, 3),
        middle=round((index + 0.5) * frame.band, 3),
        x=round(index * frame.band + (frame.band - frame.bar) / 2, 3),
        **drawn,
    )


def _y(value, frame):
    return round(frame.zero_y - value * frame.scale, 1)


def _path(points, number, frame):
    # A single point between gaps has no line; its dot shows it.
    path, is_drawing = [], False
    for index, point in enumerate(points):
        value = point.values[number]
        if value is not None:
            path.append(f"{'L' if is_drawing else 'M'}{round((index + 0.5) * frame.band, 3)} {_y(value, frame)}")
        is_drawing = value is not None
    return "".join(path)


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
    values = range(-int(frame.below // step) * step, int(frame.above) + 1, step)
    write = frame.on_axis or short_number
    return [
        Label(
            (write(abs(value)) if value else "0") + frame.suffix, 0, round(frame.zero_y - value * frame.scale, 1), "end"
        )
        for value in values
    ]


def _x_label(text, index, frame, y):
    middle = (index + 0.5) * frame.band
    if middle < 4:
        return Label(text, 0, y, "start")
    if middle > 96:
        return Label(text, 100, y, "end")
    return Label(text, round(middle, 2), y)


def _spread_out(count):
    labels = min(X_LABELS, count)
    if count > labels and (count - 1) % (labels - 1) and not (count - 1) % (labels - 2):
        labels -= 1  # then all lie equally far apart
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
