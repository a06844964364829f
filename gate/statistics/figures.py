"""Reads figures of decisions from their sums by day and by session.

The decisions themselves are never read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from django.db.models import QuerySet

from openclaw_web import clock
from openclaw_web.lists.filters import start_of
from openclaw_web.lists.paging import Page, decode_cursor, encode_cursor, page_of
from openclaw_web.sqlite.json_columns import decode

from ..models import GateDay, GateSessionSums
from . import latency
from .sums import COUNT_COLUMNS, DAY_MS, NANO, NUMBER_COLUMNS, NUMBER_INDEX

WEEKS = 12
GROUPINGS = ("day", "week", "session", "model", "prompt")
DAILY_COLUMNS = ("day", "llm_model", "prompt_version", *NUMBER_COLUMNS, "latency_json")
OF_SESSION = ("session_id", "first_at", "last_at", *NUMBER_COLUMNS, "latency_json")
SHARES = (0.5, 0.95)
COST_PLACES = 9
BLIND_SHARE = 0.1  # share of decisions without the user's message from which on a page warns


@dataclass(slots=True)
class Figures:
    """Figures of decisions: `numbers` in the order of NUMBER_COLUMNS, and latency histograms."""

    numbers: Sequence[int] = field(default_factory=lambda: [0] * len(NUMBER_COLUMNS))
    histograms: Sequence[latency.Histogram] = ()
    _percentiles: list[int | None] | None = None

    def get_number(self, name: str) -> int:
        """Return a column of the sums."""
        return self.numbers[NUMBER_INDEX[name]]

    @property
    def total(self) -> int:
        return self.numbers[0]

    @property
    def latencies(self) -> latency.Histogram:
        """Return all histograms as one."""
        if len(self.histograms) != 1:
            summed: dict[str, int] = {}
            for histogram in self.histograms:
                latency.add(summed, histogram)
            self.histograms = (summed,)
        return self.histograms[0]

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of each decision."""
        return {decision: self.get_number(name) for decision, name in COUNT_COLUMNS.items()}

    def share(self, decision: str) -> float | None:
        """Return the share of a decision, from 0 to 1; None for no decisions."""
        return self.get_number(COUNT_COLUMNS[decision]) / self.total if self.total else None

    @property
    def failures(self) -> int:
        """Return the number of calls that failed or had a malformed answer."""
        return self.get_number("failed_count") + self.get_number("malformed_count")

    @property
    def is_blind(self) -> bool:
        """Return whether the gate lacked the user's message too often to be relied on."""
        return self.get_number("unseen_count") > BLIND_SHARE * self.total

    @property
    def p50_ms(self) -> int | None:
        """Return the median latency, within 5 %."""
        return self._get_percentile(0)

    @property
    def p95_ms(self) -> int | None:
        """Return the latency that 95 % do not exceed, within 5 %."""
        return self._get_percentile(1)

    @property
    def prompt_tokens(self) -> int | None:
        """Return the prompt tokens; None when those of no decision are known."""
        return self.get_number("prompt_tokens") if self.get_number("token_count") else None

    @property
    def completion_tokens(self) -> int | None:
        return self.get_number("completion_tokens") if self.get_number("token_count") else None

    @property
    def tokens(self) -> int | None:
        """Return the tokens of prompts and answers; None when those of no decision are known."""
        known = self.get_number("prompt_tokens") + self.get_number("completion_tokens")
        return known if self.get_number("token_count") else None

    @property
    def cost_usd(self) -> float | None:
        """Return the known cost in US dollars, failed calls included; None when none is known."""
        return round(self.get_number("cost_nano_usd") / NANO, COST_PLACES) if self.get_number("cost_count") else None

    def _get_percentile(self, index):
        if self._percentiles is None:
            self._percentiles = latency.percentiles(self.latencies, SHARES)
        return self._percentiles[index]


@dataclass(frozen=True, slots=True)
class Period:
    """Whole UTC days, the last one included."""

    start: date
    end: date

    @property
    def moments(self) -> tuple[int, int]:
        """Return the first millisecond of the first and of the last day."""
        return start_of(self.start), start_of(self.end)

    @property
    def days(self) -> int:
        return (self.end - self.start).days + 1

    def split(self, *, is_weekly: bool) -> Iterator["Period"]:
        """Yield each day, or each week that begins on a Monday, as far as it is within the period."""
        first, step = (monday_of(self.start), timedelta(weeks=1)) if is_weekly else (self.start, timedelta(days=1))
        while first <= self.end:
            yield Period(max(first, self.start), min(first + step - timedelta(days=1), self.end))
            first += step


@dataclass(frozen=True, slots=True)
class FigureRow:
    """The figures of a day, a week, a session, a model or a prompt version.

    `key` is its name in JSON (a day or the Monday of a week as YYYY-MM-DD; empty: not known), `period` its days (None
    for a session, which is counted whole).
    """

    key: str
    figures: Figures
    period: Period | None
    first_at: int | None = None
    last_at: int | None = None


@dataclass(frozen=True, slots=True)
class DailySums:
    """The stored sums of some days, for charts, tables and totals."""

    period: Period
    rows: list[tuple[Any, ...]]

    def group_by(self, name: str) -> dict[Any, Figures]:
        """Return figures by `day` or `week` (their first millisecond), `model` or `prompt`."""
        index = {"day": 0, "week": 0, "model": 1, "prompt": 2}[name]
        groups: dict[Any, list[tuple[Any, ...]]] = {}
        for row in self.rows:
            week = row[0] - (row[0] // DAY_MS + 3) % 7 * DAY_MS  # the first day of 1970 was a Thursday
            groups.setdefault(week if name == "week" else row[index], []).append(row)
        return {key: _add_rows(rows) for key, rows in groups.items()}

    def total(self) -> Figures:
        """Return the figures of all rows."""
        return _add_rows(self.rows)

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """Return the models and the prompt versions that occur."""
        return sorted({row[1] for row in self.rows} - {""}), sorted({row[2] for row in self.rows} - {""})


def monday_of(day: date) -> date:
    """Return the first day of the ISO week of a day."""
    return day - timedelta(days=day.weekday())


def resolve_period(db: str, since: date | None, until: date | None) -> Period:
    """Return the days from `since` to `until`, with defaults.

    By default a period has twelve ISO weeks, and ends today. When neither day is given, it has the days with decisions
    in the twelve weeks up to the latest of them.
    """
    today = clock.day_of(clock.now_ms())
    if since or until:
        end = until or max(today, since or today)
        return Period(since or _build_weeks_until(end).start, end)
    days = GateDay.objects.using(db).filter(day__lte=start_of(today)).values_list("day", flat=True)
    newest = days.order_by("-day").first()
    if newest is None:
        return _build_weeks_until(today)
    last = clock.day_of(newest)
    oldest = days.filter(day__gte=start_of(_build_weeks_until(last).start)).order_by("day").first()
    return Period(clock.day_of(oldest or newest), last)


def read_daily_sums(db: str, period: Period, *, model: str = "", prompt: str = "") -> DailySums:
    """Return the sums of a period's days, of one model or prompt version if given."""
    start, end = period.moments
    rows = GateDay.objects.using(db).filter(day__gte=start, day__lte=end)
    filters = {"llm_model": model, "prompt_version": prompt}
    rows = rows.filter(**{name: value for name, value in filters.items() if value})
    values = rows.order_by("day").values_list(*DAILY_COLUMNS)
    return DailySums(period, [(*row[:-1], decode(row[-1])) for row in values])


def build_rows(daily_sums: DailySums, name: str) -> list[FigureRow]:
    """Return the figures of each day, week, model or prompt version.

    Days and weeks with decisions or failed calls, the newest first; models and prompt versions, the busiest first.
    """
    groups = daily_sums.group_by(name)
    if name in ("day", "week"):
        return [
            _build_days_row(start, groups[start], name, daily_sums.period) for start in sorted(groups, reverse=True)
        ]
    named = sorted(groups.items(), key=lambda item: (-item[1].total, -item[1].failures, item[0]))
    return [FigureRow(key, figures, daily_sums.period) for key, figures in named]


def slice_page(rows: list[FigureRow], *, after: str | None = None, before: str | None = None, size: int) -> Page:
    """Return a page of rows that were all read."""
    keys = [row.key for row in rows]
    if after:
        (key,) = decode_cursor(after, 1)
        start = keys.index(key) + 1 if key in keys else len(rows)
    elif before:
        (key,) = decode_cursor(before, 1)
        start = max(0, keys.index(key) - size) if key in keys else 0
    else:
        start = 0
    page = Page(rows[start : start + size])
    page.next = encode_cursor([page[-1].key]) if page and start + size < len(rows) else None
    page.previous = encode_cursor([page[0].key]) if page and start else None
    return page


def read_session_page(
    db: str, period: Period, *, session: str = "", after: str | None = None, before: str | None = None, size: int = 50
) -> Page:
    """Return a page of rows for sessions whose latest decision is in a period.

    The latest first. Each session is counted whole.
    """
    start, end = period.moments
    rows: QuerySet[Any, Any] = GateSessionSums.objects.using(db).filter(last_at__gte=start, last_at__lt=end + DAY_MS)
    if session:
        rows = GateSessionSums.objects.using(db).filter(session_id=session)
    page = page_of(rows.values(*OF_SESSION), order=("-last_at", "-session_id"), after=after, before=before, size=size)
    page[:] = [_build_session_row(row) for row in page]
    return page


def _build_weeks_until(day):
    monday = monday_of(day)
    return Period(monday - min(timedelta(weeks=WEEKS - 1), monday - date.min), day)


def _build_days_row(start, figures, name, period):
    first = clock.day_of(start)
    last = first + timedelta(days=6 if name == "week" else 0)
    return FigureRow(str(first), figures, Period(max(first, period.start), min(last, period.end)))


def _build_session_row(row):
    figures = Figures([row[name] for name in NUMBER_COLUMNS], [decode(row["latency_json"])])
    return FigureRow(row["session_id"], figures, None, row["first_at"], row["last_at"])


def _add_rows(rows):
    """Add rows of daily sums up to one."""
    columns = list(zip(*rows, strict=True))
    return Figures(list(map(sum, columns[3:-1])), columns[-1]) if rows else Figures()
