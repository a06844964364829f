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
from . import making, sums, tables
from .changes import COUNTS, DAY_MS, NUMBERS, PLACE, Place, Sum

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


def differences(db: str) -> list[Difference]:
    """What is wrong with an agent's sums, at most MOST; nothing while statistics are off. `sums.rebuild` mends all."""
    if not sums.is_on():
        return []
    with statements.one_moment(db):
        if not sums.is_whole(db):
            return [Difference("gate_sums_state", "sums", NOT_MADE)]
        return list(islice(chain(_of_hours(db), _of_sessions(db)), MOST))


def _of_hours(db) -> Iterator[Difference]:
    """Of hours, and of the days that they add up to."""
    days: dict[Place, Sum] = {}
    visited: dict[int, int] = {}
    made = making.NEVER
    while made < making.ALWAYS:
        changes, now = making.hours_after(db, made)
        stored = _stored(GateHour.objects.using(db).filter(hour__gt=made, hour__lte=now), tables.HOURS)
        yield from _compared(tables.HOURS.name, _wanted(changes.hours), stored)
        for place, one in changes.days.items():
            days.setdefault(place, Sum()).merge(one)
        first, last = making.ended_days(made, now)
        visited |= making.visited(db, first, last + DAY_MS)
        made = now
    yield from _compared(tables.DAYS.name, _wanted(days), _stored(GateDay.objects.using(db), tables.DAYS))
    rows = MemoryGateStats.objects.using(db).values_list("date", "session_count", *tables.TOLD)
    told = {(date,): tuple(values) for date, *values in rows.iterator()}
    yield from _compared("memory_gate_stats", _told(days, visited), told)


def _of_sessions(db) -> Iterator[Difference]:
    made: str | None = ""
    while made is not None:
        changes, now = making.sessions_after(db, made)
        rows = GateSessionSums.objects.using(db).filter(session_id__gt=made)
        stored = _stored(rows if now is None else rows.filter(session_id__lte=now), tables.SESSIONS)
        yield from _compared(tables.SESSIONS.name, _wanted(changes.sessions, changes.moments), stored)
        made = now


def _wanted(sums_: Mapping[Place, Sum], moments: Mapping[str, tuple[int, int]] = NO_MOMENTS) -> dict[Place, Values]:
    """Rows as they should be: numbers, histogram, and what else a row has."""
    return {
        place: (*one.numbers, {name: n for name, n in one.latencies.items() if n}, *moments.get(place[0], ()))
        for place, one in sums_.items()
    }


def _stored(rows: QuerySet, table: tables.Table) -> dict[Place, Values]:
    """The same as they are."""
    size, count = len(table.key), len(NUMBERS)
    found = {}
    for row in rows.values_list(*table.key, *NUMBERS, "latency_json", *table.more).iterator():
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
            count, together = (one.numbers[PLACE[name]] for name in ("latency_count", "latency_sum_ms"))
            average = (2 * together + count) // (2 * count) if count else None
            counts = (one.numbers[PLACE[name]] for name in COUNTS.values())
            found[(tables.date_of(day),)] = (visited.get(day, 0), one.total, *counts, average)
    return found


def _compared(table, wanted, stored):
    for place in sorted(wanted.keys() | stored.keys()):
        if wanted.get(place) != stored.get(place):
            what = MISSING if place not in stored else UNEXPECTED if place not in wanted else DIFFERENT
            yield Difference(table, " ".join(map(str, place)), what)
