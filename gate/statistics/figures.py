"""What decisions add up to, read from their sums by day and by session: never from the decisions themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from openclaw_web import clock
from openclaw_web.lists.paging import Page, decode_cursor, encode_cursor, page_of
from openclaw_web.sqlite.json_columns import decode

from ..models import GateDay, GateSessionSums
from . import latency
from .sum_changes import COUNT_COLUMNS, DAY_MS, NANO, NUMBER_COLUMNS, NUMBER_INDEX

WEEKS = 12
GROUPINGS = ("day", "week", "session", "model", "prompt")
DAILY_COLUMNS = ("day", "llm_model", "prompt_version", *NUMBER_COLUMNS, "latency_json")
OF_SESSION = ("session_id", "first_at", "last_at", *NUMBER_COLUMNS, "latency_json")
SHARES = (0.5, 0.95)
COST_PLACES = 9
BLIND_SHARE = 0.1  # of decisions without the message of the user, from which on it is said


@dataclass(slots=True)
class Figures:
    """What some decisions add up to: `numbers` in the order of NUMBERS, and histograms of their latencies."""

    numbers: Sequence[int] = field(default_factory=lambda: [0] * len(NUMBER_COLUMNS))
    histograms: Sequence[latency.Histogram] = ()
    _percentiles: list[int | None] | None = None

    def get_number(self, name: str) -> int:
        """A column of the sums."""
        return self.numbers[NUMBER_INDEX[name]]

    @property
    def total(self) -> int:
        return self.numbers[0]

    @property
    def latencies(self) -> latency.Histogram:
        """All histograms as one."""
        if len(self.histograms) != 1:
            together: dict[str, int] = {}
            for histogram in self.histograms:
                latency.add(together, histogram)
            self.histograms = (together,)
        return self.histograms[0]

    @property
    def counts(self) -> dict[str, int]:
        """How many of each decision."""
        return {decision: self.get_number(name) for decision, name in COUNT_COLUMNS.items()}

    def share(self, decision: str) -> float | None:
        """Which part of all are this decision, from 0 to 1; None of nothing."""
        return self.get_number(COUNT_COLUMNS[decision]) / self.total if self.total else None

    @property
    def failures(self) -> int:
        """Calls that were no decision: that failed, and whose answer was malformed."""
        return self.get_number("failed_count") + self.get_number("malformed_count")

    @property
    def is_blind(self) -> bool:
        """Whether the gate had no message of the user too often to be relied on."""
        return self.get_number("unseen_count") > BLIND_SHARE * self.total

    @property
    def p50_ms(self) -> int | None:
        """The median latency, within 5 %."""
        return self._latency(0)

    @property
    def p95_ms(self) -> int | None:
        """The latency that 95 % do not exceed, within 5 %."""
        return self._latency(1)

    @property
    def prompt_tokens(self) -> int | None:
        """None when the tokens of no decision are known."""
        return self.get_number("prompt_tokens") if self.get_number("token_count") else None

    @property
    def completion_tokens(self) -> int | None:
        return self.get_number("completion_tokens") if self.get_number("token_count") else None

    @property
    def tokens(self) -> int | None:
        """Both together."""
        known = self.get_number("prompt_tokens") + self.get_number("completion_tokens")
        return known if self.get_number("token_count") else None

    @property
    def cost_usd(self) -> float | None:
        """What is known of the cost, failed calls included; None when nothing is, which is not nothing."""
        return round(self.get_number("cost_nano_usd") / NANO, COST_PLACES) if self.get_number("cost_count") else None

    def _latency(self, place):
        if self._percentiles is None:
            self._percentiles = latency.percentiles(self.latencies, SHARES)
        return self._percentiles[place]


@dataclass(frozen=True, slots=True)
class Period:
    """Whole UTC days, the last one included."""

    start: date
    end: date

    @property
    def moments(self) -> tuple[int, int]:
        """The first millisecond of the first and of the last day."""
        return start_of(self.start), start_of(self.end)

    @property
    def days(self) -> int:
        return (self.end - self.start).days + 1


@dataclass(frozen=True, slots=True)
class FigureRow:
    """The figures of a day, a week, a session, a model or a prompt version.

    `key` is what programs call it (a day or the Monday of a week as YYYY-MM-DD; empty: not known), `period` its days
    (of a session None: it is counted whole).
    """

    key: str
    figures: Figures
    period: Period | None
    first_at: int | None = None
    last_at: int | None = None


@dataclass(frozen=True, slots=True)
class DailySums:
    """The sums of some days as they are stored: what charts, tables and totals are made of."""

    period: Period
    rows: list[tuple[Any, ...]]

    def group_by(self, name: str) -> dict[Any, Figures]:
        """Figures by `day` or `week` (their first millisecond), `model` or `prompt`."""
        place = {"day": 0, "week": 0, "model": 1, "prompt": 2}[name]
        found: dict[Any, list[tuple[Any, ...]]] = {}
        for row in self.rows:
            found.setdefault(_week_of(row[0]) if name == "week" else row[place], []).append(row)
        return {key: _together(rows) for key, rows in found.items()}

    def total(self) -> Figures:
        """All of it."""
        return _together(self.rows)

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """The models and the prompt versions that are in it."""
        return sorted({row[1] for row in self.rows} - {""}), sorted({row[2] for row in self.rows} - {""})


def start_of(day: date) -> int:
    """The first millisecond of a UTC day."""
    return round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def day_of(moment: int) -> date:
    """The UTC day of a moment in milliseconds."""
    return datetime.fromtimestamp(moment / 1000, UTC).date()


def monday_of(day: date) -> date:
    """The first day of the ISO week of a day."""
    return day - timedelta(days=day.weekday())


def resolve_period(db: str, since: date | None, until: date | None) -> Period:
    """The days between two, with what is usual for an end that is not named: twelve ISO weeks, up to today.

    When neither is named, the days with decisions: of the twelve weeks up to the last of them.
    """
    today = day_of(clock.now_ms())
    if since or until:
        end = until or max(today, since or today)
        return Period(since or _weeks_until(end).start, end)
    days = GateDay.objects.using(db).filter(day__lte=start_of(today)).values_list("day", flat=True)
    newest = days.order_by("-day").first()
    if newest is None:
        return _weeks_until(today)
    last = day_of(newest)
    oldest = days.filter(day__gte=start_of(_weeks_until(last).start)).order_by("day").first()
    return Period(day_of(oldest or newest), last)


def read_daily_sums(db: str, period: Period, *, model: str = "", prompt: str = "") -> DailySums:
    """The sums of the days of a period, of one model or prompt version if given."""
    start, end = period.moments
    rows = GateDay.objects.using(db).filter(day__gte=start, day__lte=end)
    only = {"llm_model": model, "prompt_version": prompt}
    rows = rows.filter(**{name: value for name, value in only.items() if value})
    found = rows.order_by("day").values_list(*DAILY_COLUMNS)
    return DailySums(period, [(*row[:-1], decode(row[-1])) for row in found])


def build_rows(found: DailySums, name: str) -> list[FigureRow]:
    """A row for each day or week with decisions or failed calls, the newest first; each model or prompt version, the
    busiest first.
    """
    groups = found.by(name)
    if name in ("day", "week"):
        return [_of_days(start, groups[start], name, found.period) for start in sorted(groups, reverse=True)]
    named = sorted(groups.items(), key=lambda item: (-item[1].total, -item[1].failures, item[0]))
    return [FigureRow(key, figures, found.period) for key, figures in named]


def slice_page(rows: list[FigureRow], *, after: str | None = None, before: str | None = None, size: int) -> Page:
    """A page of rows that are all there already."""
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
    """A page of Rows: sessions whose latest decision is in a period, that one first; each is counted whole."""
    start, end = period.moments
    rows: QuerySet[Any, Any] = GateSessionSums.objects.using(db).filter(last_at__gte=start, last_at__lt=end + DAY_MS)
    if session:
        rows = GateSessionSums.objects.using(db).filter(session_id=session)
    page = page_of(rows.values(*OF_SESSION), order=("-last_at", "-session_id"), after=after, before=before, size=size)
    page[:] = [_of_session(row) for row in page]
    return page


def _weeks_until(day):
    monday = monday_of(day)
    return Period(monday - min(timedelta(weeks=WEEKS - 1), monday - date.min), day)


def _week_of(moment):
    # The first day of 1970 was a Thursday.
    return moment - (moment // DAY_MS + 3) % 7 * DAY_MS


def _of_days(start, figures, name, period):
    first = day_of(start)
    last = first + timedelta(days=6 if name == "week" else 0)
    return FigureRow(str(first), figures, Period(max(first, period.start), min(last, period.end)))


def _of_session(row):
    figures = Figures([row[name] for name in NUMBER_COLUMNS], [decode(row["latency_json"])])
    return FigureRow(row["session_id"], figures, None, row["first_at"], row["last_at"])


def _together(rows):
    """Rows of DAILY as one."""
    columns = list(zip(*rows, strict=True))
    return Figures(list(map(sum, columns[3:-1])), columns[-1]) if rows else Figures()
