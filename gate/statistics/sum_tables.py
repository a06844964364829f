"""Sums as rows: added to what is stored with a few statements, in the caller's transaction."""

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
    """A table of sums: its key, and what its rows have beside numbers and a histogram."""

    name: str
    key: tuple[str, ...]
    more: tuple[str, ...] = ()

    @property
    def stored(self) -> str:
        """What is there already, of rows whose key begins with one of several values."""
        columns = ", ".join((*self.key, "latency_json", *self.more))
        listed = dialect.json_array("listed")
        return f"SELECT {columns} FROM {self.name} WHERE {self.key[0]} IN (SELECT value FROM {listed})"  # noqa: S608

    @property
    def added(self) -> str:
        """Insert a row, or add its numbers to those of the row that is there."""
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
        """Remove a row that counts nothing any more."""
        key = " AND ".join(f"{name} = %s" for name in self.key)
        return f"DELETE FROM {self.name} WHERE {key} AND total = 0 AND failed_count + malformed_count = 0"  # noqa: S608


HOURS = Table("gate_hours", ("hour", "llm_model", "prompt_version"))
DAYS = Table("gate_days", ("day", "llm_model", "prompt_version"))
SESSIONS = Table("gate_session_sums", ("session_id",), ENDS)
SQL = {table: (table.stored, table.added, table.emptied) for table in (HOURS, DAYS, SESSIONS)}

# How many decisions of a day each session has, up to a limit; `listed` are the days and sessions.
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
# The spec's table says how many milliseconds on average: rounded, in whole numbers only.
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
    """The last hour and the last session whose sums are made; None when all are."""
    return statements.read_row(db, STATE)


def is_empty(db: str) -> bool:
    """Whether there are no sums at all."""
    return statements.read_row(db, ANY) is None


def count_up_to(db: str, model: type[models.Model], limit: int) -> int:
    """How many rows a table has, counted up to a limit."""
    table = model._meta.db_table
    found = statements.read_row(db, f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} some LIMIT {int(limit)})")  # noqa: S608
    return found[0] if found else 0


def date_of(moment: int) -> str:
    """The UTC day of a moment in milliseconds, as YYYY-MM-DD."""
    return datetime.fromtimestamp(moment / 1000, UTC).date().isoformat()


def clear(db: str) -> None:
    """Remove all sums."""
    for model in (*MODELS, GateSumsState):
        model.objects.using(db).all().delete()


def store_changes(db: str, changes: SumChanges) -> None:
    """Add changes to the sums of hours, days and sessions, after the decisions themselves were written."""
    _add(db, HOURS, changes.hours)
    _add(db, DAYS, changes.days)
    ends = _ends(db, changes)
    _add(db, SESSIONS, changes.sessions, ends)


def store_daily_stats(db: str, days: Collection[int], sessions: Mapping[int, int], *, is_less: bool = False) -> None:
    """Derive `memory_gate_stats` of days from their sums; `sessions`: how many more decided on each of them.

    With `is_less` a day may have lost its last decision.
    """
    now = clock.now_ms()
    for day in sorted(days):
        statements.run(db, DERIVED, [date_of(day), sessions.get(day, 0), now, day])
        if is_less:
            statements.run(db, OVER, [date_of(day), day])


def count_new_sessions(db: str, changes: SumChanges) -> dict[int, int]:
    """By day, how many more sessions have a decision of that day than before these changes (or fewer: below 0)."""
    by_limit: dict[int, list[tuple[int, str]]] = {}
    for visit, number in changes.visits.items():
        if number:
            by_limit.setdefault(max(number, 0) + 1, []).append(visit)
    found: dict[int, int] = {}
    for limit, visits in by_limit.items():
        asked = encode([{"day": day, "session": session} for day, session in visits])
        for day, session, count in statements.read_rows(db, VISITED, [limit, asked]):
            number = changes.visits[day, session]
            if count == max(number, 0):  # all there are came now, or the last ones went
                found[day] = found.get(day, 0) + (1 if number > 0 else -1)
    return found


def _add(db, table, sums: Mapping[SumKey, Sum], ends=None):
    if not sums:
        return
    stored, added, emptied = SQL[table]
    size = len(table.key)
    known = encode(list({place[0] for place in sums}))
    before = {row[:size]: row[size:] for row in statements.read_rows(db, stored, [known])}
    rows = []
    for place, one in sums.items():
        text, *times = before.get(place, ("{}",))
        histogram = decode(text)
        latency.add(histogram, one.latencies)
        more = _both(ends.get(place[0]), times) if ends is not None else ()
        rows.append((*place, *one.numbers, encode(histogram, is_sorted=True), *more))
    statements.run_many(db, added, rows)
    if less := [place for place, one in sums.items() if one.is_less]:
        statements.run_many(db, emptied, less)


def _both(new, stored):
    """The first and the last moment of a session: `new` ones are sure when something was taken away."""
    if new is None:
        return stored
    first, last, is_sure = new
    return (first, last) if is_sure or not stored else (min(first, stored[0]), max(last, stored[1]))


def _ends(db, changes):
    """By session, its first and last moment, and whether that is all that there is of it."""
    found = {name: (*ends, False) for name, ends in changes.moments.items()}
    for (session_id,), one in changes.sessions.items():
        if one.is_less:
            found[session_id] = (*_ends_of(db, session_id), True)
    return found


def _ends_of(db, session_id):
    decisions = MemoryGateDecision.objects.using(db).filter(session_id=session_id)
    failed = GateCall.objects.using(db).filter(session_id=session_id, outcome__in=FAILED_OUTCOMES, replay_id=None)
    ends = [rows.aggregate(first=Min("created_at"), last=Max("created_at")) for rows in (decisions, failed)]
    known = [at for end in ends for at in (end["first"], end["last"]) if at is not None]
    return (min(known), max(known)) if known else (0, 0)  # nothing is left of it: neither is its row
