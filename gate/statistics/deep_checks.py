"""All sums against the decisions and calls that they are of: read in pieces as they are at one moment, nothing is
changed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

from django.db.models import QuerySet

from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import decode

from ..models import GateDay, GateHour, GateSessionSums, MemoryGateStats
from . import sum_rebuild, sum_tables, sums
from .sum_changes import COUNT_COLUMNS, DAY_MS, NUMBER_COLUMNS, NUMBER_INDEX, Sum, SumKey

MISSING, UNEXPECTED, DIFFERENT, NOT_MADE = "missing", "unexpected", "different", "not made"
MOST = 1_000  # differences that are told
Values = tuple[Any, ...]
NO_MOMENTS: Mapping[str, tuple[int, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Difference:
    """A row of sums that is not what it should be: its table, its key, and `what` is wrong.

    Sums that are waiting to be made are one difference, of the table that says how far they are.
    """

    table: str
    key: str
    what: str


def find_differences(db: str) -> list[Difference]:
    """What is wrong with an agent's sums, at most MOST; nothing while statistics are off. `sums.rebuild` mends all."""
    if not sums.is_on():
        return []
    with statements.read_transaction(db):
        if not sums.is_complete(db):
            return [Difference("gate_sums_state", "sums", NOT_MADE)]
        return list(islice(chain(_of_hours(db), _of_sessions(db)), MOST))


def _of_hours(db) -> Iterator[Difference]:
    """Of hours, and of the days that they add up to."""
    days: dict[SumKey, Sum] = {}
    visited: dict[int, int] = {}
    made = sum_rebuild.NEVER
    while made < sum_rebuild.ALWAYS:
        changes, now = sum_rebuild.sum_hours_after(db, made)
        stored = _stored(GateHour.objects.using(db).filter(hour__gt=made, hour__lte=now), sum_tables.HOURS)
        yield from _compared(sum_tables.HOURS.name, _wanted(changes.hours), stored)
        for place, one in changes.days.items():
            days.setdefault(place, Sum()).merge(one)
        first, last = sum_rebuild.find_ended_days(made, now)
        visited |= sum_rebuild.count_sessions_by_day(db, first, last + DAY_MS)
        made = now
    yield from _compared(sum_tables.DAYS.name, _wanted(days), _stored(GateDay.objects.using(db), sum_tables.DAYS))
    rows = MemoryGateStats.objects.using(db).values_list("date", "session_count", *sum_tables.STATS_COLUMNS)
    told = {(date,): tuple(values) for date, *values in rows.iterator()}
    yield from _compared("memory_gate_stats", _told(days, visited), told)


def _of_sessions(db) -> Iterator[Difference]:
    made: str | None = ""
    while made is not None:
        changes, now = sum_rebuild.sum_sessions_after(db, made)
        rows = GateSessionSums.objects.using(db).filter(session_id__gt=made)
        stored = _stored(rows if now is None else rows.filter(session_id__lte=now), sum_tables.SESSIONS)
        yield from _compared(sum_tables.SESSIONS.name, _wanted(changes.sessions, changes.moments), stored)
        made = now


def _wanted(sums_: Mapping[SumKey, Sum], moments: Mapping[str, tuple[int, int]] = NO_MOMENTS) -> dict[SumKey, Values]:
    """Rows as they should be: numbers, histogram, and what else a row has."""
    return {
        place: (*one.numbers, {name: n for name, n in one.latencies.items() if n}, *moments.get(place[0], ()))
        for place, one in sums_.items()
    }


def _stored(rows: QuerySet, table: sum_tables.Table) -> dict[SumKey, Values]:
    """The same as they are."""
    size, count = len(table.key), len(NUMBER_COLUMNS)
    found = {}
    for row in rows.values_list(*table.key, *NUMBER_COLUMNS, "latency_json", *table.more).iterator():
        numbers, (text, *more) = row[size : size + count], row[size + count :]
        found[tuple(row[:size])] = (*numbers, decode(text, object), *more)
    return found


def _told(days, visited):
    """Rows of `memory_gate_stats` as they should be."""
    by_day: dict[int, Sum] = {}
    for (day, *_rest), one in days.items():
        by_day.setdefault(day, Sum()).merge(one)
    found = {}
    for day, one in by_day.items():
        if one.total:
            count, together = (one.numbers[NUMBER_INDEX[name]] for name in ("latency_count", "latency_sum_ms"))
            average = (2 * together + count) // (2 * count) if count else None
            counts = (one.numbers[NUMBER_INDEX[name]] for name in COUNT_COLUMNS.values())
            found[(sum_tables.date_of(day),)] = (visited.get(day, 0), one.total, *counts, average)
    return found


def _compared(table, wanted, stored):
    for place in sorted(wanted.keys() | stored.keys()):
        if wanted.get(place) != stored.get(place):
            what = MISSING if place not in stored else UNEXPECTED if place not in wanted else DIFFERENT
            yield Difference(table, " ".join(map(str, place)), what)
