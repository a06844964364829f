"""Compares stored sums with the numbers of their records.

No sum is compared with another sum. `find_differences` adds up the numbers beside all records of an agent in one walk,
and compares them with sessions, days, turns and the daily counts of tools. `deep_checks.find_differences` derives
everything of a session anew and compares every column. The sums of removed sessions are passed over: their records are
gone, so there is no source to compare them with.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from openclaw_web.sqlite import dialect, statements

from ..transcripts.rows import TOTALS, add_totals
from ..transcripts.tool_days import SUM_COLUMNS, TOTAL_PLACE
from ..transcripts.turns import utc_day

DAY_MS = 86_400_000
CLOSE = 1e-9  # dollars: costs are not added up in the same order everywhere
COUNTS = "NOT is_synthetic AND repeat_of IS NULL"  # a record in sums
OTHERS = {"error_count": "is_failed", "unpriced_tokens": "CASE WHEN cost_usd IS NULL THEN total_tokens END"}
TOTAL_SQL = {name: f"SUM(CASE WHEN {COUNTS} THEN {OTHERS.get(name, name)} END)" for name in TOTALS}
TOTAL_SQL |= {name: f"COALESCE({sql}, 0)" for name, sql in TOTAL_SQL.items() if name != "cost_usd"}
PROMPT = "COALESCE(input_tokens, 0) + COALESCE(cache_read_tokens, 0) + COALESCE(cache_write_tokens, 0)"
TURN_SQL = {
    "is_active": dialect.count_if("kind = 'user' AND is_active"),
    "first_seq": "MIN(seq)",
    "last_seq": "MAX(seq)",
    "record_count": "COUNT(*)",
    "prompt_tokens": f"NULLIF(MAX(CASE WHEN {COUNTS} AND kind = 'assistant' THEN {PROMPT} END), 0)",
    **TOTAL_SQL,
}
SUMMED = ("record_count", "turn_count", "compaction_count", "withheld_count", "result_count", "failed_count", *TOTALS)
PLACES = {name: place for place, name in enumerate(SUMMED)}
OF_SESSION = ("record_count", "turn_count", "compaction_count", "withheld_count", *TOTALS)
OF_DAY = ("record_count", "turn_count", *TOTALS)
OF_TOOLS = ("call_count", "result_count", "failed_count", "prompt_tokens")
COUNTED = (
    "kind = 'user' AND is_active AND repeat_of IS NULL",
    "kind = 'compaction'",
    "kind = 'withheld'",
    "kind = 'tool_result' AND repeat_of IS NULL",
    "kind = 'tool_result' AND is_failed AND repeat_of IS NULL",
)
PROMPTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens")


def _build_difference_sql(name):
    if name == "cost_usd":
        apart = f"ABS(of_records.{name} - turns.{name})"
        is_apart = f"{apart} > {CLOSE} AND {apart} > {CLOSE} * ABS(of_records.{name})"
        is_unlike = dialect.differ(f"(of_records.{name} IS NULL)", f"(turns.{name} IS NULL)")
        return f"(COALESCE({is_apart}, 0) OR {is_unlike})"
    return dialect.differ(f"of_records.{name}", f"turns.{name}")


# The first column of each is the session, and all are in its order. Turns are compared with their records by SQLite,
# because there are many.
SOURCES = {
    "parts": f"""
        SELECT session_id, created_at / {DAY_MS}, MIN(created_at), MAX(created_at),
            COUNT(*), {", ".join(map(dialect.count_if, COUNTED))}, {", ".join(TOTAL_SQL.values())}
        FROM transcript_events GROUP BY 1, 2 ORDER BY 1
    """,  # noqa: S608 - constants of this module
    "turns": f"""
        SELECT of_records.session_id, COUNT(*), {dialect.count_if("turns.id IS NULL")},
            {", ".join(dialect.count_if(_build_difference_sql(name)) for name in TURN_SQL)}
        FROM (
            SELECT session_id, turn_number, {", ".join(f"{sql} AS {name}" for name, sql in TURN_SQL.items())}
            FROM transcript_events WHERE turn_number IS NOT NULL GROUP BY 1, 2
        ) of_records
        LEFT JOIN conversation_turns turns
            ON turns.session_id = of_records.session_id AND turns.turn_number = of_records.turn_number
        GROUP BY 1 ORDER BY 1
    """,  # noqa: S608
    "sessions": f"SELECT id, {', '.join(OF_SESSION)}, created_at, last_activity_at FROM sessions ORDER BY 1",  # noqa: S608
    "days": f"SELECT session_id, date, {', '.join(OF_DAY)} FROM session_days ORDER BY 1",  # noqa: S608
    "tools": f"SELECT session_id, date, {', '.join(OF_TOOLS)} FROM session_tools ORDER BY 1",  # noqa: S608
    # A turn whose user message is gone and that evidence refers to has a number below 0 (ledger.rebuild.sums).
    "turn_rows": "SELECT session_id, COUNT(*) FROM conversation_turns WHERE turn_number >= 0 GROUP BY 1 ORDER BY 1",
    "identities": "SELECT session_id, COUNT(*) FROM transcript_event_identities GROUP BY 1 ORDER BY 1",
    "snapshots": "SELECT session_id, COUNT(*) FROM transcript_snapshots GROUP BY 1 ORDER BY 1",
}
BY_DAY = f"SELECT {', '.join(TOTAL_PLACE)}, {', '.join(f'SUM({name})' for name in SUM_COLUMNS)} FROM session_tools "  # noqa: S608
BY_DAY += f"GROUP BY 1, 2, 3 HAVING {' OR '.join(f'SUM({name}) <> 0' for name in SUM_COLUMNS)}"
STORED_DAYS = f"SELECT {', '.join((*TOTAL_PLACE, *SUM_COLUMNS))} FROM tool_days"  # noqa: S608
DIFFERENT_DAYS = f"""
    SELECT DISTINCT {", ".join(TOTAL_PLACE)} FROM (
        SELECT * FROM ({BY_DAY} EXCEPT {STORED_DAYS}) UNION ALL SELECT * FROM ({STORED_DAYS} EXCEPT {BY_DAY})
    ) ORDER BY 1, 2, 3
"""  # noqa: S608


@dataclass(slots=True)
class WrongSession:
    """A session with sums that differ from those of its records.

    `names` say which, as `table.column` or `table`.
    """

    session_id: str
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Sums:
    """The sums of records, and when the first and the last of them were."""

    first_at: int = 2**63 - 1
    last_at: int = 0
    sums: list[float | None] = field(default_factory=lambda: [None] * len(SUMMED))

    def add(self, row: tuple[Any, ...]) -> None:
        """Add the sums of a session's records on one day."""
        _id, _day, first_at, last_at, *sums = row
        self.first_at, self.last_at = min(self.first_at, first_at), max(self.last_at, last_at)
        self.sums = list(map(add_totals, self.sums, sums))

    def __getitem__(self, name: str) -> Any:
        return self.sums[PLACES[name]] if name == "cost_usd" else self.sums[PLACES[name]] or 0


def find_differences(db: str) -> Iterator[WrongSession]:
    """The sessions with wrong sums, by id, from the numbers beside their records."""
    with statements.read_transaction(db):
        removed = {
            session_id for (session_id,) in statements.iterate_rows(db, "SELECT session_id FROM removed_sessions")
        }
        sources = {name: statements.iterate_rows(db, query) for name, query in SOURCES.items()}
        for session_id, rows_by_source in _merge_sources(sources):
            if session_id not in removed and (names := list(dict.fromkeys(_find_wrong_names(rows_by_source)))):
                yield WrongSession(session_id, names)


def find_different_tool_days(db: str) -> Iterator[str]:
    """Rows of `tool_days` that differ from the sum of `session_tools`.

    Rows that stayed of removed sessions are among those.
    """
    for place in statements.iterate_rows(db, DIFFERENT_DAYS):
        yield " ".join(["tool_days", *map(str, place)])


def is_different(value: Any, other: Any) -> bool:
    """Whether two values of a column differ.

    Costs are compared with a tolerance, because they may be added up in another order.
    """
    if isinstance(value, float) and isinstance(other, float | int):
        return abs(value - other) > CLOSE * max(1, abs(value))
    return bool(value != other)


def _merge_sources(sources: dict[str, Iterable[tuple[Any, ...]]]):
    """Each session with its rows of every source.

    All sources are in the order of their sessions.
    """
    streams = {name: groupby(rows, itemgetter(0)) for name, rows in sources.items()}
    heads = {name: next(stream, None) for name, stream in streams.items()}
    while waiting := [head[0] for head in heads.values() if head]:
        session_id, rows_by_source = min(waiting), {}
        for name, head in heads.items():
            rows_by_source[name] = []
            if head and head[0] == session_id:
                rows_by_source[name] = list(head[1])
                heads[name] = next(streams[name], None)
        yield session_id, rows_by_source


def _find_wrong_names(rows_by_source) -> Iterator[str]:
    total, days = Sums(), {}
    for part in rows_by_source["parts"]:
        total.add(part)
        days[utc_day(part[1] * DAY_MS)] = sums = Sums()
        sums.add(part)
    yield from _find_wrong_session(rows_by_source, total)
    yield from _find_wrong_days(rows_by_source["days"], days)
    yield from _find_wrong_turns(rows_by_source)
    yield from _find_wrong_tools(rows_by_source["tools"], days)


def _find_wrong_session(rows_by_source, total):
    count = total["record_count"]
    if not rows_by_source["sessions"]:
        yield "sessions"
        return
    _id, *values, created_at, last_at = rows_by_source["sessions"][0]
    for name, value in zip(OF_SESSION, values, strict=True):
        if is_different(total[name], value):
            yield f"sessions.{name}"
    if count and created_at != total.first_at:
        yield "sessions.created_at"
    if count and last_at < total.last_at:
        yield "sessions.last_activity_at"
    if count != _get_count(rows_by_source["identities"]):
        yield "transcript_event_identities"
    if total["compaction_count"] != _get_count(rows_by_source["snapshots"]):
        yield "transcript_snapshots"


def _get_count(rows):
    return rows[0][1] if rows else 0


def _find_wrong_days(rows, days):
    stored = {day: values for _id, day, *values in rows}
    if stored.keys() != days.keys():
        yield "session_days"
    for day in stored.keys() & days.keys():
        for name, value in zip(OF_DAY, stored[day], strict=True):
            if is_different(days[day][name], value):
                yield f"session_days.{name}"


def _find_wrong_turns(rows_by_source):
    _id, count, gone, *unlike = rows_by_source["turns"][0] if rows_by_source["turns"] else (0, 0, 0)
    if gone or count != _get_count(rows_by_source["turn_rows"]):
        yield "conversation_turns"
    for name, unlike_count in zip(TURN_SQL, unlike, strict=False):
        if unlike_count and unlike_count > gone:
            yield f"conversation_turns.{name}"


def _find_wrong_tools(rows, days):
    """Names of daily sums over all tools that are wrong.

    Which tools were called stands in the records alone, which only the deep check reads.
    """
    stored: dict[str, list[int]] = {}
    for _id, day, *values in rows:
        stored[day] = [value + other for value, other in zip(stored.get(day, [0] * len(values)), values, strict=True)]
    for day in stored.keys() | days.keys():
        sums = days.get(day) or Sums()
        prompts = sum(sums[name] for name in PROMPTS)
        expected = [sums["tool_call_count"], sums["result_count"], sums["failed_count"], prompts]
        for name, value, other in zip(OF_TOOLS, expected, stored.get(day, [0] * len(expected)), strict=True):
            if value != other:
                yield f"session_tools.{name}"
