import pytest

from openclaw_web.pages.charts import (
    PLOT_HEIGHT,
    ROOM_ABOVE,
    Point,
    Series,
    bar_chart,
    histogram,
    line_chart,
    round_step,
    short_number,
)
from openclaw_web.pages.small_charts import sparkline

TURNS = Series("Turns")
ERRORS = Series("Errors", "bad", is_below=True)


def chart(*values, series=(TURNS, ERRORS), href=None):
    points = [Point(f"day {i}", f"d{i}", value, href) for i, value in enumerate(values)]
    return bar_chart(points, title="Turns and errors", unit="Day", series=series)


def test_it_works():
    drawn = chart((30, 0), (10, 10), href="/agents/")
    assert drawn.totals == [40, 10]
    assert [bar.tip for bar in drawn.bars] == ["day 0 · Turns 30 · Errors 0", "day 1 · Turns 10 · Errors 10"]
    assert drawn.zero_y == ROOM_ABOVE + PLOT_HEIGHT * 30 / 40
    turns, errors = drawn.bars[1].segments
    assert (turns.y + turns.height, errors.y) == (drawn.zero_y, drawn.zero_y)  # one stands on the line, one hangs
    assert errors.y + errors.height == ROOM_ABOVE + PLOT_HEIGHT


def test_series_stack_on_each_other():
    drawn = chart((10, 20, 30), series=(TURNS, Series("Samples", "ok"), Series("Exports", "info")))
    pieces = drawn.bars[0].segments
    assert [piece.tone for piece in pieces] == ["accent", "ok", "info"]
    assert pieces[0].y + pieces[0].height == drawn.zero_y
    assert pieces[1].y + pieces[1].height == pytest.approx(pieces[0].y, abs=0.1)
    assert pieces[2].y == pytest.approx(ROOM_ABOVE, abs=0.3)


def test_more_than_six_series_are_a_mistake():
    with pytest.raises(ValueError, match="one to six"):
        chart((1,) * 7, series=[TURNS] * 7)


def test_marks_stand_before_their_points():
    points = [Point(str(n), str(n), (1, 0)) for n in range(4)]
    drawn = bar_chart(points, title="Turns", unit="Day", series=(TURNS, ERRORS), marks=[0, 2])
    assert drawn.marks == [0, 50]


def test_of_many_series_a_bar_says_only_what_there_is():
    drawn = chart((1, 0, 0, 2), series=[Series(name) for name in "abcd"])
    assert drawn.bars[0].tip.endswith("a 1 · d 2")


@pytest.mark.parametrize("values", [(), ((0, 0), (0, 0))])
def test_without_a_value_there_is_nothing_to_draw(values):
    assert chart(*values).bars == []


def test_the_smallest_value_can_be_seen():
    assert chart((1_000_000, 1)).bars[0].segments[1].height >= 2


def test_a_day_without_values_leads_nowhere():
    drawn = chart((5, 0), (0, 0), href="/agents/")
    assert [bar.href for bar in drawn.bars] == ["/agents/", None]


@pytest.mark.parametrize("count", [1, 2, 7, 35, 100])
def test_everything_stays_inside_the_plot(count):
    drawn = chart(*[(i + 1, i % 3) for i in range(count)])
    for bar in drawn.bars:
        assert bar.x >= 0 and bar.x + drawn.bar_width <= 100.01
        for piece in bar.segments:
            assert piece.y >= ROOM_ABOVE - 2 and piece.y + piece.height <= ROOM_ABOVE + PLOT_HEIGHT + 2
    assert len(drawn.x_labels) <= 5
    assert all(0 <= label.x <= 100 for label in [*drawn.x_labels, drawn.peak])
    assert all(ROOM_ABOVE - 1 <= label.y <= ROOM_ABOVE + PLOT_HEIGHT + 1 for label in drawn.y_labels)


def test_the_highest_bar_says_its_value():
    drawn = chart((3, 0), (1204, 7), (8, 0))
    assert drawn.peak.text == "1,204"
    assert drawn.peak.y < drawn.bars[1].segments[0].y


def test_a_chart_of_errors_alone_has_no_peak_above():
    drawn = chart((0, 4))
    assert drawn.peak is None
    assert drawn.zero_y == ROOM_ABOVE


@pytest.mark.parametrize(("least", "step"), [(0.2, 1), (1, 1), (1.5, 2), (3, 5), (6, 10), (29, 50), (1300, 2000)])
def test_steps_are_round(least, step):
    assert round_step(least) == step


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (950, "950"), (1000, "1k"), (1500, "1.5k"), (20_000, "20k"), (3_000_000, "3M")]
)
def test_numbers_beside_an_axis_are_short(value, text):
    assert short_number(value) == text


def lines(*values, **more):
    points = [Point(f"day {i}", f"d{i}", value) for i, value in enumerate(values)]
    return line_chart(
        points, title="Time to answer", unit="Day", series=[Series("Median"), Series("Slow", "bad")], **more
    )


def test_lines_start_at_zero_and_break_at_gaps():
    drawn = lines((0, 10), (5, None), (None, 10), (5, 20))
    assert [line.path.count("M") for line in drawn.lines] == [2, 2]
    assert drawn.lines[0].path.startswith(f"M12.5 {ROOM_ABOVE + PLOT_HEIGHT}.0L37.5 ")
    assert [len(bar.dots) for bar in drawn.bars] == [2, 1, 1, 2]
    assert drawn.bars[1].tip == "day 1 · Median 5 · Slow –"


def test_a_line_has_its_latest_value_in_the_legend():
    drawn = lines((1.5, 2), (2.5, 3), in_words=lambda value: f"{value:.1f} s")
    assert [total for _series, total in drawn.legend] == ["2.5 s", "3.0 s"]
    assert drawn.bars[0].value_texts == ("1.5 s", "2.0 s")


def test_one_point_is_a_dot():
    [bar] = lines((4, 2)).bars
    assert (len(bar.dots), bar.band_x) == (2, 0)


@pytest.mark.parametrize("values", [(), ((None, None),)])
def test_lines_without_a_value_are_not_drawn(values):
    assert lines(*values).bars == []


def test_a_histogram_is_packed():
    points = [Point(f"{n} – {n + 5}", str(n), (count,)) for n, count in ((0, 3), (5, 0), (10, 1), (15, 1))]
    drawn = histogram(points, title="Turns of a session", unit="Turns", label="Sessions")
    assert drawn.bar_width == pytest.approx(drawn.band_width * 0.96, abs=0.01)
    assert drawn.totals == [5]


def test_a_sparkline_has_a_bar_for_each_value_that_is_something():
    spark = sparkline([0, 5, None, 10], label="Turns")
    assert spark.path == "M27.5 100v-50h20.0V100zM77.5 100v-100h20.0V100z"
    assert sparkline([0, None], label="") is None and sparkline([], label="") is None


def test_bars_of_money_are_written_in_dollars():
    chart = bar_chart([Point("Mon", "Mon", (1_500_000,))], title="", unit="Day", series=[TURNS],
                      in_words=lambda micro: f"${micro / 1_000_000:.2f}")  # fmt: skip
    assert (chart.totals, chart.bars[0].tip, chart.peak.text) == (["$1.50"], "Mon · Turns $1.50", "$1.50")
    assert [label.text for label in chart.y_labels] == ["0", "$0.50", "$1.00", "$1.50"]
