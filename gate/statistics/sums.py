"""Sums of decisions and failed calls by hour, day and session, each computed by one statement from the stored rows.

A write computes the sums that it touched anew, in its own transaction. Where these are of many decisions it only marks
them as stale: the end of an import, or whoever reads sums before that, computes them; very many are computed by a job.
With `memoryGateAuditing.enableStats` off there are no sums.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import Any, NamedTuple

from django.db import OperationalError, models, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import services as agents
from jobs import services as jobs
from jobs.kinds import BY_SCHEDULE, Kind
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.sqlite import connection_tuning, dialect, failures, statements
from openclaw_web.sqlite.json_columns import decode, encode
from people.configuration import setting_values as configuration

from ..models import GateCall, GateDay, GateHour, GateSessionSums, GateStaleSum, MemoryGateDecision, MemoryGateStats
from . import latency

SETTING = "memoryGateAuditing.enableStats"
JOB_KIND = "gate_statistics"
RETRY_MS = 10 * 60_000  # milliseconds before a failed job is started again
AT_ONCE = 100  # decisions of the days and sessions of a write that computes their sums itself
STEP = 500  # hours or sessions that are computed in one transaction
SMALL = 2_000  # stale sums, or decisions when all are stale, that a reader computes itself
MOST_ROWS = 100_000  # and at most this many decisions of stale sessions, about three seconds
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
NANO = 1_000_000_000
# The most that one decision adds (31 years, a trillion tokens, 1,000 dollars): sums of millions still fit a column.
MAX_ADDED = 10**12
COUNT_COLUMNS = {choice: f"{choice.lower()}_count" for choice in MemoryGateDecision.Decision.values}
FAILURE_COLUMNS = {GateCall.Outcome.FAILED: "failed_count", GateCall.Outcome.MALFORMED: "malformed_count"}
FAILED_OUTCOMES = tuple(FAILURE_COLUMNS)
FAILED = f"replay_id IS NULL AND outcome IN ('{FAILED_OUTCOMES[0]}', '{FAILED_OUTCOMES[1]}')"


def _bound(column, most=MAX_ADDED):
    return f"MAX(0, MIN(COALESCE({column}, 0), {most}))"


COST = {
    "cost_count": "cost_usd IS NOT NULL",
    # A whole number, so that any order of adding gives the same sum.
    "cost_nano_usd": f"CAST(ROUND({_bound('cost_usd', MAX_ADDED / NANO)} * {NANO}) AS INTEGER)",
}
OF_DECISION = {
    "total": "1",
    **{name: f"decision = '{choice}'" for choice, name in COUNT_COLUMNS.items()},
    "unseen_count": "COALESCE(NOT saw_user, 0)",
    **dict.fromkeys(FAILURE_COLUMNS.values(), "0"),
    "latency_count": "llm_latency_ms IS NOT NULL",
    "latency_sum_ms": _bound("llm_latency_ms"),
    "token_count": "prompt_tokens IS NOT NULL OR completion_tokens IS NOT NULL",
    "prompt_tokens": _bound("prompt_tokens"),
    "completion_tokens": _bound("completion_tokens"),
    **COST,
}
NUMBER_COLUMNS = tuple(OF_DECISION)
NUMBER_INDEX = {name: number for number, name in enumerate(NUMBER_COLUMNS)}
NO_NUMBERS = dict.fromkeys(NUMBER_COLUMNS, "0")
OF_CALL = NO_NUMBERS | {name: f"outcome = '{outcome}'" for outcome, name in FAILURE_COLUMNS.items()} | COST
PLACE = {"llm_model": "COALESCE(llm_model, '')", "prompt_version": "COALESCE(prompt_version, '')"}
LISTED = dialect.json_array("listed")  # the keys whose sums are computed


def _select(columns: dict[str, str]) -> str:
    return "SELECT " + ", ".join(f"{sql} AS {name}" for name, sql in columns.items())


def _add_up(key: Sequence[str], parts: Iterable[str], **more: str) -> str:
    """SQL: sums by key of rows with NUMBER_COLUMNS, and a `bucket` that counts `counted` times, or null."""
    keys, numbers = ", ".join(key), ", ".join(f"SUM({name}) AS {name}" for name in NUMBER_COLUMNS)
    ends = "MIN(created_at) AS created_at, MAX(created_at) AS ended_at"
    by_bucket = f"SELECT {keys}, bucket, SUM(counted) AS counted, {numbers}, {ends} FROM ({' UNION ALL '.join(parts)})"  # noqa: S608
    columns = {"latency_json": "json_group_object(bucket, counted) FILTER (WHERE bucket IS NOT NULL)"} | more
    others = "".join(f", {sql} AS {name}" for name, sql in columns.items())
    return f"SELECT {keys}, {numbers}{others} FROM ({by_bucket} GROUP BY {keys}, bucket) GROUP BY {keys}"  # noqa: S608


def _read_rows(key: dict[str, str], within: str) -> list[str]:
    """SQL: the decisions and the failed calls of listed keys, for `_add_up`."""
    of_decision = OF_DECISION | {"bucket": latency.BUCKET_SQL, "counted": "1", "created_at": "created_at"}
    of_call = OF_CALL | {"bucket": "NULL", "counted": "0", "created_at": "created_at"}
    return [
        f"{_select(key | of_decision)} FROM {LISTED} CROSS JOIN memory_gate_decisions ON {within}",
        f"{_select(key | of_call)} FROM {LISTED} CROSS JOIN gate_calls ON {within} AND {FAILED}",
    ]


def _read_hours() -> list[str]:
    """SQL: the hours of listed days for `_add_up`, and each bucket of their histograms."""
    key = {"day": "listed.value", "llm_model": "llm_model", "prompt_version": "prompt_version"}
    hours = f"FROM {LISTED} CROSS JOIN gate_hours ON hour >= listed.value AND hour < listed.value + {DAY_MS}"
    numbers = {name: name for name in NUMBER_COLUMNS} | {"bucket": "NULL", "counted": "0", "created_at": "hour"}
    bucket = NO_NUMBERS | {"bucket": "buckets.key", "counted": "buckets.value", "created_at": "hour"}
    items = dialect.json_column_items("latency_json", "buckets")
    return [f"{_select(key | numbers)} {hours}", f"{_select(key | bucket)} {hours} JOIN {items}"]


# The spec's table has the average in milliseconds: rounded, computed with whole numbers only.
AVERAGE = "(2 * SUM(latency_sum_ms) + SUM(latency_count)) / (2 * NULLIF(SUM(latency_count), 0))"
SESSIONS_OF_DAY = f"""
    SELECT COUNT(DISTINCT session_id) FROM memory_gate_decisions
    WHERE created_at >= day AND created_at < day + {DAY_MS}
"""  # noqa: S608
STATS = {
    "date": "strftime('%%Y-%%m-%%d', day / 1000, 'unixepoch')",
    "session_count": f"({SESSIONS_OF_DAY})",
    "total_decisions": "SUM(total)",
    **{name: f"SUM({name})" for name in COUNT_COLUMNS.values()},
    "avg_latency_ms": AVERAGE,
}
OF_DAY = f"FROM gate_days WHERE day IN (SELECT value FROM {LISTED}) GROUP BY day HAVING SUM(total) > 0"  # noqa: S608


class Table(NamedTuple):
    """A table of sums: its columns, the first of which is listed, and the SQL that computes rows of listed keys."""

    model: type[models.Model]
    columns: tuple[str, ...]
    sql: str
    key_count: int = 1  # the first columns


HOURS = Table(
    GateHour,
    ("hour", *PLACE, *NUMBER_COLUMNS, "latency_json"),
    _add_up(
        ("hour", *PLACE),
        _read_rows(
            {"hour": "listed.value", **PLACE},
            f"created_at >= listed.value AND created_at < listed.value + {HOUR_MS}",
        ),
    ),
    key_count=3,
)
DAYS = Table(
    GateDay, ("day", *PLACE, *NUMBER_COLUMNS, "latency_json"), _add_up(("day", *PLACE), _read_hours()), key_count=3
)
DATES = Table(MemoryGateStats, tuple(STATS), f"{_select(STATS)} {OF_DAY}")
SESSIONS = Table(
    GateSessionSums,
    ("session_id", *NUMBER_COLUMNS, "latency_json", "first_at", "last_at"),
    _add_up(
        ("session_id",),
        _read_rows({"session_id": "listed.value"}, "session_id = listed.value"),
        first_at="MIN(created_at)",
        last_at="MAX(ended_at)",
    ),
)
TABLES = (HOURS, DAYS, DATES, SESSIONS)
HOUR = f"created_at - (created_at % {HOUR_MS} + {HOUR_MS}) % {HOUR_MS}"
ALL = "SELECT {column} FROM memory_gate_decisions UNION SELECT {column} FROM gate_calls WHERE " + FAILED  # noqa: S608
ALL_KEYS = {"hour": ALL.format(column=HOUR), "session": ALL.format(column="session_id")}
STALE = f"{dialect.INSERT_OR_LEAVE} INTO gate_stale_sums (kind, key) "
MARK = STALE + "VALUES (%s, %s)"
# Whether there are sums, whether some are stale, and the decisions in those of listed days and sessions.
STATE = f"""
    SELECT EXISTS (SELECT 1 FROM gate_hours), EXISTS (SELECT 1 FROM gate_stale_sums),
        (SELECT COALESCE(SUM(total), 0) FROM gate_days WHERE day IN (SELECT value FROM {LISTED})) +
        (SELECT COALESCE(SUM(total), 0) FROM gate_session_sums WHERE session_id IN (SELECT value FROM {LISTED}))
"""  # noqa: S608


def is_on() -> bool:
    """Return whether sums are kept."""
    return configuration.is_on(SETTING)


def date_of(moment: int) -> str:
    """Return the UTC day of a moment in milliseconds, as YYYY-MM-DD."""
    return clock.day_of(moment).isoformat()


def refresh(db: str, places: Iterable[tuple[int, str]]) -> None:
    """Refresh the sums of the moments and sessions of rows that were written, in the transaction that wrote them.

    A row that moved to another place has both.
    """
    if not is_on():
        reset(db)
        return
    places = list(places)
    hours = {moment - moment % HOUR_MS for moment, _session in places}
    sessions = {session_id for _moment, session_id in places}
    days = encode(list({hour - hour % DAY_MS for hour in hours}))
    has_sums, is_stale, count = statements.read_row(db, STATE, [days, encode(list(sessions))]) or (0, 0, 0)
    if has_sums and not is_stale and count + len(places) <= AT_ONCE:
        _compute(db, "hour", hours)
        _compute(db, "session", sessions)
        return
    marks = [("hour", hour) for hour in hours] + [("session", session_id) for session_id in sessions]
    statements.run_many(db, MARK, marks if has_sums or is_stale else [("all", "")])
    if not has_sums:
        ensure_complete(db)


def ensure_complete(db: str) -> bool:
    """Return whether the sums are complete, after computing a few stale ones; many are computed by a job.

    False too while the agent's file cannot be written.
    """
    if not is_on():
        return False
    if is_complete(db) and not _has_none(db):
        return True
    try:
        with transaction.atomic(using=db):
            if is_complete(db) and _has_none(db):  # no other process began meanwhile
                reset(db)
            # Whether more is stale than a reader computes. Nothing is counted past its limit.
            stale = GateStaleSum.objects.using(db)
            sources = [MemoryGateDecision.objects.using(db), GateCall.objects.using(db)]
            limits = [(rows, SMALL) for rows in sources]
            if not stale.filter(kind="all").exists():
                sessions = stale.filter(kind="session").values("key")
                limits = [(stale, SMALL), *((rows.filter(session_id__in=sessions), MOST_ROWS) for rows in sources)]
            if any(rows.values("pk")[: limit + 1].count() > limit for rows, limit in limits):
                transaction.on_commit(lambda: _start_job(db), using=db)
                return False
            while run_step(db):
                pass
    except OperationalError as exc:
        if failures.is_interrupted(exc):  # the time of the page is up
            raise
        return False
    return True


def is_complete(db: str) -> bool:
    """Return whether no sums are stale."""
    return not GateStaleSum.objects.using(db).exists()


def rebuild(db: str) -> None:
    """Compute all sums again now. Decisions may be stored meanwhile."""
    with transaction.atomic(using=db):
        reset(db)
    while run_step(db):
        pass


def reset(db: str) -> None:
    """Remove all sums and mark them as stale; they are computed on demand."""
    stale = GateStaleSum.objects.using(db)
    with transaction.atomic(using=db):
        if not stale.filter(kind="all").exists():
            for model in (*(table.model for table in TABLES), GateStaleSum):
                model.objects.using(db).all().delete()
            stale.create(kind="all", key="")


def run_step(db: str) -> bool:
    """Compute the next stale sums, and return whether there may be more. Several processes may call this at once."""
    stale = GateStaleSum.objects.using(db)
    with transaction.atomic(using=db):
        if stale.filter(kind="all").delete()[0]:
            for kind, sql in ALL_KEYS.items():
                statements.run(db, f"{STALE} SELECT '{kind}', * FROM ({sql})")  # noqa: S608
        for kind in ALL_KEYS:
            keys = list(stale.filter(kind=kind).order_by("key").values_list("key", flat=True)[:STEP])
            if keys:
                _compute(db, kind, map(int, keys) if kind == "hour" else keys)
                stale.filter(kind=kind, key__in=keys).delete()
                return True
    return False


def find_wrong(db: str) -> Iterator[str]:
    """Yield the rows of sums that differ from what is computed now, as `table key`; none while sums are off or stale.

    All are computed into temporary tables of the same names, which SQLite then reads instead.
    """
    with statements.read_transaction(db):
        if not is_on() or not is_complete(db) or _has_none(db):
            return
        hours, sessions = ([key for (key,) in statements.read_rows(db, sql)] for sql in ALL_KEYS.values())
        days = list({hour - hour % DAY_MS for hour in hours})
        names = [table.model._meta.db_table for table in TABLES]
        try:
            for name, table, keys in zip(names, TABLES, (hours, days, days, sessions), strict=True):
                _run(db, f"CREATE TEMPORARY TABLE {name} AS", table, keys)
                columns = f"SELECT {', '.join(table.columns)} FROM"
                both = f"{columns} {dialect.MAIN}.{name} UNION ALL {columns} {dialect.TEMPORARY}.{name}"
                order = ", ".join(table.columns[: table.key_count])
                with closing(statements.iterate_rows(db, f"{both} ORDER BY {order}")) as rows:
                    for key, pair in groupby(rows, key=lambda row, count=table.key_count: row[:count]):
                        values = [_read_values(table, row) for row in pair]
                        if len(values) < 2 or values[0] != values[1]:
                            yield " ".join([name, *map(str, key)])
        finally:
            for name in names:
                statements.run(db, f"DROP TABLE IF EXISTS {dialect.TEMPORARY}.{name}")


def _read_values(table, row):
    """Read a row with its histogram as an object: the order of its buckets is no difference."""
    return [
        decode(value, object) if name == "latency_json" else value
        for name, value in zip(table.columns, row, strict=True)
    ]


def find_job(db: str) -> JobRun | None:
    """Return the newest job that computes these sums, or None."""
    rows = JobRun.objects.filter(kind=JOB_KIND, params_json=JobRun.params.encode(_build_params(db)))
    return rows.defer("log", "result_json").order_by("-created_at", "-id").first()


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Compute the stale sums of `params["agent"]`, and return how many decisions it has.

    Running it again computes the rest. Raises Refused for an unknown agent.
    """
    db = agents.get_alias(params["agent"])
    if not is_on():
        return {"message": _("Statistics of decisions are turned off in the settings."), "decisions": 0}
    connection_tuning.expect_many_writes(db)
    steps, most = 0, 0
    try:
        while run_step(db):
            steps += 1
            more = -(-GateStaleSum.objects.using(db).count() // STEP)
            most = most or 2 * more + 2
            if steps > most:  # decisions are written faster than this computes: the next run, import or reader goes on
                break
            progress.update(steps, steps + more, _("Calculating statistics of %(agent)s") % params)
    finally:
        connection_tuning.expect_few_writes(db)
    count = MemoryGateDecision.objects.using(db).count()
    words = ngettext(
        "Statistics of %(count)s decision calculated.", "Statistics of %(count)s decisions calculated.", count
    )
    return {"message": words % {"count": f"{count:,}"}, "decisions": count}


JOB = Kind(
    run=run,
    label=gettext_lazy("Calculate statistics of decisions"),
    audit_text=gettext_lazy("started to calculate statistics of decisions"),
    cancel_text=gettext_lazy("What is calculated already is kept; the next run continues."),
    page="gate:statistics",
    page_params=("agent",),
)


def _compute(db, kind, keys):
    """Replace the sums of hours with those of their days, or of sessions."""
    keys = sorted(keys)
    if kind == "session":
        _replace(db, SESSIONS, keys, keys)
        return
    days = sorted({hour - hour % DAY_MS for hour in keys})
    dates = [date_of(day) for day in days]
    _replace(db, HOURS, keys, keys)
    _replace(db, DAYS, days, days)
    _replace(db, DATES, days, dates)
    MemoryGateStats.objects.using(db).filter(date__in=dates).update(updated_at=clock.now_ms())


def _replace(db, table, keys, stored_keys):
    table.model.objects.using(db).filter(**{f"{table.columns[0]}__in": stored_keys}).delete()
    _run(db, f"INSERT INTO {table.model._meta.db_table} ({', '.join(table.columns)})", table, keys)


def _run(db, start, table, keys):
    statements.run(db, f"{start} {table.sql}", [encode(keys)] * table.sql.count("%s"))


def _has_none(db):
    """Return whether there are decisions or failed calls, but no sums."""
    if GateHour.objects.using(db).exists():
        return False
    failed = GateCall.objects.using(db).filter(outcome__in=FAILED_OUTCOMES, replay_id=None)
    return MemoryGateDecision.objects.using(db).exists() or failed.exists()


def _start_job(db):
    last = find_job(db)
    if last and last.has_ended and last.state != JobRun.State.FINISHED:
        is_due = not clock.is_recent(last.finished_at or 0, RETRY_MS)
    else:
        is_due = last is None or last.has_ended
    if is_due:
        jobs.start(JOB_KIND, _build_params(db), by=BY_SCHEDULE)


def _build_params(db):
    return {"agent": db.removeprefix("agent_")}
