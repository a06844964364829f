"""Tables of sums: adds changes with a few SQL statements, in the caller's transaction."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import models
from django.db.models import Max, Min

from openclaw_web import clock
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import decode, encode

from ..models import GateCall, GateDay, GateHour, GateSessionSums, GateSumsState, MemoryGateDecision, MemoryGateStats
from . import latency
from .sum_changes import COUNT_COLUMNS, DAY_MS, FAILED_OUTCOMES, NUMBER_COLUMNS, Sum, SumChanges, SumKey

MODELS = (GateHour, GateDay, GateSessionSums, MemoryGateStats)
ENDS = ("first_at", "last_at")


@dataclass(frozen=True)
class Table:
    """A table of sums: its key, and its columns besides numbers and the histogram."""

    name: str
    key: tuple[str, ...]
    more: tuple[str, ...] = ()

    @property
    def stored(self) -> str:
        """SQL that reads the rows whose key begins with one of several values."""
        columns = ", ".join((*self.key, "latency_json", *self.more))
        listed = dialect.json_array("listed")
        return f"SELECT {columns} FROM {self.name} WHERE {self.key[0]} IN (SELECT value FROM {listed})"  # noqa: S608

    @property
    def added(self) -> str:
        """SQL that inserts a row, or adds its numbers to those of the stored row."""
        set_ = ("latency_json", *self.more)
        columns = (*self.key, *NUMBER_COLUMNS, *set_)
        changes = [f"{name} = {self.name}.{name} + excluded.{name}" for name in NUMBER_COLUMNS]
        changes += [f"{name} = excluded.{name}" for name in set_]
        return (
            f"INSERT INTO {self.name} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))}) "  # noqa: S608
            f"ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {', '.join(changes)}"
        )

    @property
    def emptied(self) -> str:
        """SQL that deletes a row without decisions and failed calls."""
        key = " AND ".join(f"{name} = %s" for name in self.key)
        return f"DELETE FROM {self.name} WHERE {key} AND total = 0 AND failed_count + malformed_count = 0"  # noqa: S608


HOURS = Table("gate_hours", ("hour", "llm_model", "prompt_version"))
DAYS = Table("gate_days", ("day", "llm_model", "prompt_version"))
SESSIONS = Table("gate_session_sums", ("session_id",), ENDS)
SQL = {table: (table.stored, table.added, table.emptied) for table in (HOURS, DAYS, SESSIONS)}

# The number of decisions of a session on a day, up to a limit; `listed` are the days and sessions.
VISITED = f"""
    SELECT day, session_id, (
        SELECT COUNT(*) FROM (
            SELECT 1 FROM memory_gate_decisions d
            WHERE d.session_id = asked.session_id AND d.created_at >= asked.day AND d.created_at < asked.day + {DAY_MS}
            LIMIT %s))
    FROM (SELECT {dialect.json_text("listed.value", "day")} AS day, {dialect.json_text("listed.value", "session")} AS
        session_id FROM {dialect.json_array("listed")}) AS asked
"""  # noqa: S608
STATS_COLUMNS = ("total_decisions", *COUNT_COLUMNS.values(), "avg_latency_ms")
# The spec's table has the average in milliseconds: rounded, computed with whole numbers only.
AVERAGE = (
    "CASE WHEN SUM(latency_count) THEN (2 * SUM(latency_sum_ms) + SUM(latency_count)) / (2 * SUM(latency_count)) END"
)
DERIVED = f"""
    INSERT INTO memory_gate_stats (date, session_count, {", ".join(STATS_COLUMNS)}, updated_at)
    SELECT %s, %s, SUM(total), {", ".join(f"SUM({name})" for name in COUNT_COLUMNS.values())}, {AVERAGE}, %s
    FROM gate_days WHERE day = %s GROUP BY day HAVING SUM(total) > 0
    ON CONFLICT (date) DO UPDATE SET session_count = memory_gate_stats.session_count + excluded.session_count,
    {", ".join(f"{name} = excluded.{name}" for name in STATS_COLUMNS)}, updated_at = excluded.updated_at
"""  # noqa: S608
OVER = """
    DELETE FROM memory_gate_stats WHERE date = %s
    AND NOT EXISTS (SELECT 1 FROM gate_days WHERE day = %s AND total > 0)
"""

STATE = "SELECT hours_made, sessions_made FROM gate_sums_state"
ANY = "SELECT 1 FROM gate_hours some LIMIT 1"


def read_state(db: str) -> tuple[int, str] | None:
    """Return the last hour and the last session whose sums are built; None when all are."""
    return statements.read_row(db, STATE)


def is_empty(db: str) -> bool:
    """Return whether there are no sums at all."""
    return statements.read_row(db, ANY) is None


def count_up_to(db: str, model: type[models.Model], limit: int) -> int:
    """Return the number of rows of a table, counted up to a limit."""
    table = model._meta.db_table
    row = statements.read_row(db, f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} some LIMIT {int(limit)})")  # noqa: S608
    return row[0] if row else 0


def date_of(moment: int) -> str:
    """Return the UTC day of a moment in milliseconds, as YYYY-MM-DD."""
    return datetime.fromtimestamp(moment / 1000, UTC).date().isoformat()


def clear(db: str) -> None:
    """Remove all sums."""
    for model in (*MODELS, GateSumsState):
        model.objects.using(db).all().delete()


def store_changes(db: str, changes: SumChanges) -> None:
    """Add changes to the sums of hours, days and sessions.

    The decisions must be written before.
    """
    _add_sums(db, HOURS, changes.hours)
    _add_sums(db, DAYS, changes.days)
    ends = _find_moments(db, changes)
    _add_sums(db, SESSIONS, changes.sessions, ends)


def store_daily_stats(db: str, days: Collection[int], sessions: Mapping[int, int], *, is_less: bool = False) -> None:
    """Derive `memory_gate_stats` of days from their sums.

    `sessions` is by how many the sessions with a decision of each day change. With `is_less` a day may have lost its
    last decision.
    """
    now = clock.now_ms()
    for day in sorted(days):
        statements.run(db, DERIVED, [date_of(day), sessions.get(day, 0), now, day])
        if is_less:
            statements.run(db, OVER, [date_of(day), day])


def count_new_sessions(db: str, changes: SumChanges) -> dict[int, int]:
    """Return by day by how many the sessions with decisions change.

    A number is below 0 when sessions lost their last decision of the day.
    """
    by_limit: dict[int, list[tuple[int, str]]] = {}
    for visit, number in changes.visits.items():
        if number:
            by_limit.setdefault(max(number, 0) + 1, []).append(visit)
    changes_by_day: dict[int, int] = {}
    for limit, visits in by_limit.items():
        listed = encode([{"day": day, "session": session} for day, session in visits])
        for day, session, count in statements.read_rows(db, VISITED, [limit, listed]):
            number = changes.visits[day, session]
            if count == max(number, 0):  # all its decisions were added now, or the last ones removed
                changes_by_day[day] = changes_by_day.get(day, 0) + (1 if number > 0 else -1)
    return changes_by_day


def _add_sums(db, table, sums: Mapping[SumKey, Sum], ends=None):
    if not sums:
        return
    stored, added, emptied = SQL[table]
    size = len(table.key)
    known = encode(list({key[0] for key in sums}))
    before = {row[:size]: row[size:] for row in statements.read_rows(db, stored, [known])}
    rows = []
    for key, row_sum in sums.items():
        text, *times = before.get(key, ("{}",))
        histogram = decode(text)
        latency.add(histogram, row_sum.latencies)
        more = _merge_moments(ends.get(key[0]), times) if ends is not None else ()
        rows.append((*key, *row_sum.numbers, encode(histogram, is_sorted=True), *more))
    statements.run_many(db, added, rows)
    if less := [key for key, row_sum in sums.items() if row_sum.is_less]:
        statements.run_many(db, emptied, less)


def _merge_moments(new, stored):
    """Return the first and the last moment of a session.

    The `new` moments replace the stored ones when a decision was subtracted.
    """
    if new is None:
        return stored
    first, last, is_sure = new
    return (first, last) if is_sure or not stored else (min(first, stored[0]), max(last, stored[1]))


def _find_moments(db, changes):
    """Return by session its first and last moment, and whether these were read anew."""
    moments = {name: (*ends, False) for name, ends in changes.moments.items()}
    for (session_id,), row_sum in changes.sessions.items():
        if row_sum.is_less:
            moments[session_id] = (*_read_session_moments(db, session_id), True)
    return moments


def _read_session_moments(db, session_id):
    decisions = MemoryGateDecision.objects.using(db).filter(session_id=session_id)
    failed = GateCall.objects.using(db).filter(session_id=session_id, outcome__in=FAILED_OUTCOMES, replay_id=None)
    ends = [rows.aggregate(first=Min("created_at"), last=Max("created_at")) for rows in (decisions, failed)]
    known = [at for end in ends for at in (end["first"], end["last"]) if at is not None]
    return (min(known), max(known)) if known else (0, 0)  # the session has no decisions left, and its row is removed
