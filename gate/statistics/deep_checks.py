"""Compares all sums with the decisions and calls that they sum up.

Rows are read in batches of one snapshot of the database; none is changed.
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
MOST = 1_000  # maximum differences of a check
Values = tuple[Any, ...]
NO_MOMENTS: Mapping[str, tuple[int, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Difference:
    """A wrong row of sums: its table, its key, and the problem.

    Sums that are not built yet are one difference, of the table with the state of the sums.
    """

    table: str
    key: str
    problem: str


def find_differences(db: str) -> list[Difference]:
    """Return at most MOST differences in an agent's sums.

    Empty while statistics are off. `sums.rebuild` repairs all differences.
    """
    if not sums.is_on():
        return []
    with statements.read_transaction(db):
        if not sums.is_complete(db):
            return [Difference("gate_sums_state", "sums", NOT_MADE)]
        return list(islice(chain(_check_hours(db), _check_sessions(db)), MOST))


def _check_hours(db) -> Iterator[Difference]:
    """Yield the differences of hours, and of the days that they sum up to."""
    days: dict[SumKey, Sum] = {}
    session_counts: dict[int, int] = {}
    built_hour = sum_rebuild.NEVER
    while built_hour < sum_rebuild.ALWAYS:
        changes, last_hour = sum_rebuild.sum_hours_after(db, built_hour)
        stored = _read_stored(
            GateHour.objects.using(db).filter(hour__gt=built_hour, hour__lte=last_hour), sum_tables.HOURS
        )
        yield from _compare(sum_tables.HOURS.name, _build_expected(changes.hours), stored)
        for key, row_sum in changes.days.items():
            days.setdefault(key, Sum()).merge(row_sum)
        first, last = sum_rebuild.find_ended_days(built_hour, last_hour)
        session_counts |= sum_rebuild.count_sessions_by_day(db, first, last + DAY_MS)
        built_hour = last_hour
    yield from _compare(
        sum_tables.DAYS.name, _build_expected(days), _read_stored(GateDay.objects.using(db), sum_tables.DAYS)
    )
    rows = MemoryGateStats.objects.using(db).values_list("date", "session_count", *sum_tables.STATS_COLUMNS)
    stored_stats = {(date,): tuple(values) for date, *values in rows.iterator()}
    yield from _compare("memory_gate_stats", _build_expected_stats(days, session_counts), stored_stats)


def _check_sessions(db) -> Iterator[Difference]:
    built_session: str | None = ""
    while built_session is not None:
        changes, last_session = sum_rebuild.sum_sessions_after(db, built_session)
        rows = GateSessionSums.objects.using(db).filter(session_id__gt=built_session)
        stored = _read_stored(
            rows if last_session is None else rows.filter(session_id__lte=last_session), sum_tables.SESSIONS
        )
        yield from _compare(sum_tables.SESSIONS.name, _build_expected(changes.sessions, changes.moments), stored)
        built_session = last_session


def _build_expected(
    sums_: Mapping[SumKey, Sum], moments: Mapping[str, tuple[int, int]] = NO_MOMENTS
) -> dict[SumKey, Values]:
    """Return the expected rows: numbers, histogram, and the other columns."""
    return {
        key: (*row_sum.numbers, {name: n for name, n in row_sum.latencies.items() if n}, *moments.get(key[0], ()))
        for key, row_sum in sums_.items()
    }


def _read_stored(rows: QuerySet, table: sum_tables.Table) -> dict[SumKey, Values]:
    """Return the stored rows: numbers, histogram, and the other columns."""
    size, count = len(table.key), len(NUMBER_COLUMNS)
    stored_rows = {}
    for row in rows.values_list(*table.key, *NUMBER_COLUMNS, "latency_json", *table.more).iterator():
        numbers, (text, *more) = row[size : size + count], row[size + count :]
        stored_rows[tuple(row[:size])] = (*numbers, decode(text, object), *more)
    return stored_rows


def _build_expected_stats(days, session_counts):
    """Return the expected rows of `memory_gate_stats`."""
    by_day: dict[int, Sum] = {}
    for (day, *_rest), row_sum in days.items():
        by_day.setdefault(day, Sum()).merge(row_sum)
    expected_rows = {}
    for day, row_sum in by_day.items():
        if row_sum.total:
            count, latency_sum = (row_sum.numbers[NUMBER_INDEX[name]] for name in ("latency_count", "latency_sum_ms"))
            average = (2 * latency_sum + count) // (2 * count) if count else None
            counts = (row_sum.numbers[NUMBER_INDEX[name]] for name in COUNT_COLUMNS.values())
            expected_rows[(sum_tables.date_of(day),)] = (session_counts.get(day, 0), row_sum.total, *counts, average)
    return expected_rows


def _compare(table, expected, stored):
    for key in sorted(expected.keys() | stored.keys()):
        if expected.get(key) != stored.get(key):
            problem = MISSING if key not in stored else UNEXPECTED if key not in expected else DIFFERENT
            yield Difference(table, " ".join(map(str, key)), problem)
