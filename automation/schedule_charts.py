"""Charts of how long the runs of a job took. Pure.

A chart is for the job's page, a few small bars are for the list.
"""

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web.pages import states
from openclaw_web.pages.charts import Chart, Point, Series, bar_chart
from openclaw_web.pages.formatting import day_in_words, duration, to_local_datetime

from .schedules import FAILED, SKIPPED, SUCCEEDED, Run, RunStatistics

MAX_BARS = 50
SMALL_BARS = 20
WIDTH, GAP, HEIGHT, BASE = 5, 2, 24, 19  # pixels; failed runs hang below the base line, so that colour is not alone
TONES = {SUCCEEDED: "ok", FAILED: "bad"}
SERIES = TONES | {SKIPPED: "muted"}


class SmallBar(NamedTuple):
    """A run as a bar, in pixels.

    Its class is `series--<tone>`.
    """

    tone: str
    x: int
    y: int
    width: int
    height: int


class SmallBars(NamedTuple):
    """A picture of a few runs, in pixels, and its description in words."""

    words: str
    width: int
    height: int
    bars: list[SmallBar]


def build_chart(numbers: RunStatistics, addresses: Mapping[str, str]) -> Chart:
    """Build the chart of the latest runs, the oldest first.

    A bar leads to the session of its run when that is in the store.
    """
    runs = [run for run in numbers.runs[:MAX_BARS] if run.duration_ms is not None][::-1]
    in_seconds = max((run.duration_ms for run in runs), default=0) >= 10_000
    title = _("Duration of the latest runs, in seconds") if in_seconds else _("Duration of the latest runs, in ms")
    series = tuple(Series(states.word(state), tone) for state, tone in SERIES.items())
    days = {f"{to_local_datetime(run.ts):%Y-%m-%d}" if to_local_datetime(run.ts) else "" for run in runs}
    unit = 1000 if in_seconds else 1
    points = [_build_point(run, unit, len(days) == 1, addresses) for run in runs]
    chart = bar_chart(points, title=title, unit=_("Run"), series=series)
    places = [_get_series_index(run) for run in runs]
    chart.totals = [places.count(place) for place in range(len(series))]  # a sum of durations says little
    return chart


def build_small_bars(numbers: RunStatistics) -> SmallBars | None:
    """Build the bars of the last runs, the oldest first; None without runs.

    The words are for people who cannot see the bars.
    """
    runs = numbers.runs[:SMALL_BARS][::-1]
    if not runs:
        return None
    longest = max((run.duration_ms or 0 for run in runs), default=0)
    return SmallBars(
        words=_describe_runs(runs),
        width=len(runs) * (WIDTH + GAP) - GAP,
        height=HEIGHT,
        bars=[_build_bar(run, place, longest) for place, run in enumerate(runs)],
    )


def _build_point(run, unit, is_one_day, addresses):
    moment = to_local_datetime(run.ts)
    day = f"{moment:%Y-%m-%d %H:%M}" if moment else "–"
    value = max(1, round(run.duration_ms / unit))
    place = _get_series_index(run)
    return Point(
        name=f"{day}, {duration(run.duration_ms)}",
        short=_format_short(moment, is_one_day),
        values=tuple(value if number == place else 0 for number in range(3)),
        href=addresses.get(run.session_id),
    )


def _format_short(moment, is_one_day):
    if moment is None:
        return "–"
    return f"{moment:%H:%M}" if is_one_day else day_in_words(moment.date(), has_year=False)


def _get_series_index(run):
    return {SUCCEEDED: 0, FAILED: 1}.get(run.outcome, 2)


def _build_bar(run: Run, number, longest):
    share = sqrt((run.duration_ms or 0) / longest) if longest else 0
    height = max(2, round(BASE * share))
    below = HEIGHT - BASE if run.outcome == FAILED else 0
    tone = TONES.get(run.outcome, "muted")
    return SmallBar(tone, number * (WIDTH + GAP), BASE - height, WIDTH, height + below)


def _describe_runs(runs):
    counts = {name: sum(run.outcome == name for run in runs) for name in (SUCCEEDED, FAILED, SKIPPED)}
    words = ngettext(
        "Last run: %(succeeded)s succeeded, %(failed)s failed, %(skipped)s skipped",
        "Last %(runs)s runs: %(succeeded)s succeeded, %(failed)s failed, %(skipped)s skipped",
        len(runs),
    )
    return words % {"runs": len(runs), **counts}
