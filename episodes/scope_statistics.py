"""Statistics of a scope: events by type and day, latency of tools, drift.

Everything that is read has a limit, of rows or of time.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import OperationalError
from django.db.models import Count, F, Max, Min, QuerySet
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.clock import DAY_MS
from openclaw_web.pages import charts
from openclaw_web.pages.formatting import day_in_words
from openclaw_web.sqlite.json_columns import decode
from openclaw_web.sqlite.time_limits import time_box

from .events import TYPES
from .models import EpisodicEvent

RECENT_DAYS, EARLIER_DAYS = 7, 28
DAYS = RECENT_DAYS + EARLIER_DAYS  # days of a page
COUNT_MS = 500  # milliseconds for each count
TOOL_EVENTS = 5_000  # the newest calls and results whose latency is measured
FEWEST_EVENTS = 20  # drift of fewer events says nothing
CALL_KEYS = ("toolCallId", "tool_call_id")
CALL, RESULT = EpisodicEvent.Type.TOOL_CALL.value, EpisodicEvent.Type.TOOL_RESULT.value
# The bars of a day: types with one tone are one series.
SERIES = (
    ("conversation", "accent", ("conversation.user", "conversation.assistant")),
    ("tool", "tool", (CALL, RESULT)),
    ("ops", "muted", ("ops.alert", "ops.decision", "ops.observation")),
)


@dataclass(frozen=True, slots=True)
class TypeFigures:
    """Events of one type: all, those of 35 days, and of both parts of these.

    `recent` are those of the last 7 days, `earlier` those of the 28 before.
    """

    type: str
    live: int
    in_range: int
    recent: int
    earlier: int

    @property
    def is_changed(self) -> bool:
        """Whether the events of a day became more, or fewer, by half at least."""
        difference = self.recent * EARLIER_DAYS - self.earlier * RECENT_DAYS
        is_large = 2 * abs(difference) >= self.earlier * RECENT_DAYS
        return is_large and max(self.recent, self.earlier) >= FEWEST_EVENTS

    @property
    def is_more(self) -> bool:
        return self.recent * EARLIER_DAYS > self.earlier * RECENT_DAYS


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from calls of tools to their results; None without any pair."""

    pairs: int = 0
    median_ms: int | None = None
    p95_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures of a scope; `types` is None when counting took too long."""

    first_day: date
    last_day: date
    types: list[TypeFigures] | None
    by_day: dict[tuple[str, date], int]
    latency: Latency


def read_scopes(db: str, scopes: Iterable[str]) -> dict[str, list[dict[str, Any]]] | None:
    """Return the rows of each scope: type, count, first and last time.

    None when counting takes too long.
    """
    rows = EpisodicEvent.objects.using(db).filter(scope__in=scopes, type__in=TYPES).values("scope", "type")
    counted = _read_in_time(rows.annotate(count=Count("*"), first=Min("ts_ms"), last=Max("ts_ms")))
    if counted is None:
        return None
    by_scope = defaultdict(list)
    for row in counted:
        by_scope[row["scope"]].append(row)
    return by_scope


def read_statistics(db: str, scope: str, last_day: date | None = None) -> Statistics:
    """Return the figures of the 35 days until a UTC day.

    The default is the day of the newest event.
    """
    last_day = last_day or _find_last_day(db, scope)
    first_day = last_day - timedelta(days=DAYS - 1)
    start = round(datetime(first_day.year, first_day.month, first_day.day, tzinfo=UTC).timestamp()) * 1000
    # The types are named so that each one is a range of the index of scope, type and time.
    rows = EpisodicEvent.objects.using(db).filter(scope=scope, type__in=TYPES)
    live = _read_in_time(rows.values_list("type").annotate(count=Count("*")))
    ranged = rows.filter(ts_ms__gte=start, ts_ms__lt=start + DAYS * DAY_MS).annotate(day=F("ts_ms") / DAY_MS)
    daily = _read_in_time(ranged.values_list("type", "day").annotate(count=Count("*"))) if live is not None else None
    by_day = {(name, _to_day(day)): count for name, day, count in daily or ()}
    types = None if daily is None else _build_types(dict(live or ()), by_day, last_day)
    return Statistics(first_day, last_day, types, by_day, read_latency(db, scope))


def build_chart(statistics: Statistics, build_address: Callable[[date], str]) -> charts.Chart:
    """Return the chart of events by day; each bar leads to its events."""
    points = []
    for number in range(DAYS):
        day = statistics.first_day + timedelta(days=number)
        values = tuple(sum(statistics.by_day.get((name, day), 0) for name in names) for _label, _tone, names in SERIES)
        points.append(
            charts.Point(day_in_words(day), day_in_words(day, has_year=False), values, href=build_address(day))
        )
    series = [charts.Series(label, tone) for label, tone, _names in SERIES]
    return charts.bar_chart(points, title=_("Events by day (UTC)"), unit=_("Day"), series=series)


def read_latency(db: str, scope: str) -> Latency:
    """Return the latency of the newest tool calls of a scope that have a result."""
    rows = EpisodicEvent.objects.using(db).filter(scope=scope)
    columns = ("ts_ms", "id", "type", "session_id", "refs_json")
    newest = [
        row
        for name in (CALL, RESULT)
        for row in rows.filter(type=name).order_by("-ts_ms", "-id").values_list(*columns)[:TOOL_EVENTS]
    ]
    spans = sorted(_pair_calls(sorted(newest)[-TOOL_EVENTS:]))
    if not spans:
        return Latency()
    return Latency(len(spans), spans[(len(spans) - 1) // 2], spans[-(-len(spans) * 95 // 100) - 1])


def find_call_id(refs: Any) -> str:
    """Return the id of the tool call that references name; empty without one."""
    values = [refs.get(key) for key in CALL_KEYS] if isinstance(refs, dict) else []
    return next((value for value in values if isinstance(value, str) and value), "")


def _pair_calls(rows):
    """Yield the milliseconds of each pair.

    Pairs have the same id of a call, or follow each other in a session.
    """
    waiting: dict[tuple[str, str], deque[int]] = defaultdict(deque)
    for moment, _row_id, name, session_id, refs_json in rows:
        key = session_id, find_call_id(decode(refs_json, object))
        if name == CALL:
            waiting[key].append(moment)
        elif waiting[key]:
            yield moment - waiting[key].popleft()


def _build_types(live, by_day, last_day):
    counts, recent = Counter[str](), Counter[str]()
    for (name, day), count in by_day.items():
        counts[name] += count
        recent[name] += count if day > last_day - timedelta(days=RECENT_DAYS) else 0
    return [
        TypeFigures(name, live[name], counts[name], recent[name], counts[name] - recent[name])
        for name in TYPES
        if live.get(name)
    ]


def _find_last_day(db, scope):
    newest = EpisodicEvent.objects.using(db).filter(scope=scope).order_by("-ts_ms").values_list("ts_ms", flat=True)
    return _to_day(clock.clamp(newest.first() or clock.now_ms()) // DAY_MS)


def _read_in_time(rows: QuerySet[Any, Any]) -> list[Any] | None:
    """Return the rows of a query, or None when it takes too long."""
    with time_box(rows.db, COUNT_MS) as is_up:
        try:
            return list(rows)
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return None


def _to_day(number):
    return date(1970, 1, 1) + timedelta(days=number)
