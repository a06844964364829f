"""Rows for comparing agents: each computed by a statement from the agent's own file, and written to the global one."""

from collections.abc import Iterable

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Count, Max, Sum

from agents import services as agents
from agents.models import Agent, AgentDatabase
from ledger.errors import error_sums
from ledger.models import RejectedRecord, Session, TranscriptEvent
from ledger.transcripts.rows import TOTALS
from ledger.transcripts.transcript_store import UNKNOWN_ENVELOPE
from ledger.transcripts.turns import utc_day
from openclaw_web import clock
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode
from openclaw_web.sqlite.row_comparison import CLOSE
from openclaw_web.sqlite.rows import insert_sql

from . import latency, memory_sums, site_sums
from .first_page import memory_panel, newest_sessions
from .models import AgentDailyStat, AgentHour, AgentSummary
from .span_sums import (
    COUNTS,
    DAY_MS,
    DETAILS,
    HOUR,
    HOUR_SPAN,
    add_up,
    day_before,
    have_differences,
    is_different,
    start_of,
)

SUMMED_COLUMNS = (*TOTALS, "turn_count", "record_count")
REMOVED_COLUMNS = {"removed_turn_count": "turn_count", "removed_error_count": "error_count"}
DAY_COLUMNS = ("date", "session_count", *SUMMED_COLUMNS, *REMOVED_COLUMNS)
HOUR_COLUMNS = ("span", *COUNTS, "cost_usd", *DETAILS)
NO_DETAILS, NOT_COUNTED = ("{}", "{}"), ("", "")
HOUR_DAYS = 4  # days with hours: a range of 24 hours and the one before it span three of them
IS_REMOVED = "session_id IN (SELECT session_id FROM removed_sessions)"
DAYS = f"""
    SELECT date, COUNT(session_id), {", ".join(f"SUM({name})" for name in SUMMED_COLUMNS)},
        {", ".join(f"SUM(CASE WHEN {IS_REMOVED} THEN {name} ELSE 0 END)" for name in REMOVED_COLUMNS.values())}
    FROM session_days GROUP BY date
"""  # noqa: S608
# Days whose turns change with the records of a day: turns that continue, and sessions with an abandoned branch.
OTHER_DAYS = f"""
    SELECT DISTINCT turns.created_at / 86400000 FROM (
        SELECT DISTINCT session_id, turn_number FROM {dialect.json_array("listed")}
        CROSS JOIN transcript_events ON created_at >= value AND created_at < value + {DAY_MS}
            AND turn_number IS NOT NULL) records
    JOIN conversation_turns turns
        ON turns.session_id = records.session_id AND turns.turn_number = records.turn_number
    UNION
    SELECT DISTINCT turns.created_at / 86400000 FROM session_days days
    JOIN conversation_turns turns ON turns.session_id = days.session_id
    WHERE days.date IN (SELECT value FROM {dialect.json_array("listed")})
        AND EXISTS (SELECT 1 FROM transcript_events aside
            WHERE aside.session_id = days.session_id AND NOT aside.is_active)
"""  # noqa: S608
# What a turn and a record count for is as in `ledger.transcripts.rows`.
RECORDS = f"""
    SELECT {HOUR} AS hour, COALESCE(model, '') AS model, SUM(is_failed) AS error_count,
        SUM(COALESCE(total_tokens, 0)) AS total_tokens, SUM(cost_usd) AS cost_usd,
        SUM(CASE WHEN cost_usd IS NULL THEN COALESCE(total_tokens, 0) ELSE 0 END) AS unpriced_tokens
    FROM {dialect.json_array("listed")}
    CROSS JOIN transcript_events ON created_at >= listed.value AND created_at < listed.value + {DAY_MS}
    WHERE NOT is_synthetic AND repeat_of IS NULL GROUP BY 1, 2
"""  # noqa: S608
TURNS = f"""
    SELECT {HOUR} AS hour, {latency.BUCKET_SQL} AS bucket, COUNT(*) AS turn_count
    FROM {dialect.json_array("listed")}
    CROSS JOIN conversation_turns turns ON created_at >= listed.value AND created_at < listed.value + {DAY_MS}
    WHERE is_active AND NOT EXISTS (
        SELECT 1 FROM transcript_events events WHERE events.session_id = turns.session_id
            AND events.seq = turns.first_seq AND events.repeat_of IS NOT NULL)
    GROUP BY 1, 2
"""  # noqa: S608
# The spans of each hour: its day, and the hour itself from the listed moment on.
SPANS = f"""
    SELECT hour, substr({HOUR_SPAN}, 1, 10) AS span FROM hours
    UNION ALL SELECT hour, {HOUR_SPAN} FROM hours WHERE hour >= %s
"""  # noqa: S608
OF_RECORD = ("error_count", "total_tokens", "unpriced_tokens", "cost_usd")
SPAN_SUMS = add_up(
    {
        "records": RECORDS,
        "turns": TURNS,
        "hours": "SELECT hour FROM records UNION SELECT hour FROM turns",
        "spans": SPANS,
        "parts": f"""
            SELECT span, 0 AS turn_count, {", ".join(OF_RECORD)}, 0 AS removed_turn_count, 0 AS removed_error_count
            FROM records JOIN spans USING (hour)
            UNION ALL SELECT span, turn_count, 0, 0, 0, NULL, 0, 0 FROM turns JOIN spans USING (hour)
        """,  # noqa: S608
        "buckets": "SELECT span, bucket, turn_count AS counted FROM turns JOIN spans USING (hour)"
        " WHERE bucket IS NOT NULL",
        "models": "SELECT span, model, COALESCE(cost_usd, 0.0) AS cost, unpriced_tokens AS unpriced"
        " FROM records JOIN spans USING (hour)",
    },
    COUNTS,
)
DELETE_DAYS = f"""
    DELETE FROM agent_daily_stats WHERE agent_id = %s AND date IN (SELECT value FROM {dialect.json_array("listed")})
"""  # noqa: S608
INSERT_HOUR = insert_sql("agent_hours", ("agent_id", *HOUR_COLUMNS))
# Details that nobody counted are empty: then the stored ones stay.
UPSERT_DAY = (
    insert_sql("agent_daily_stats", ("agent_id", *DAY_COLUMNS, *DETAILS))
    + " ON CONFLICT (agent_id, date) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in DAY_COLUMNS[1:])
    + "".join(
        f", {name} = CASE WHEN excluded.{name} = '' THEN agent_daily_stats.{name} ELSE excluded.{name} END"
        for name in DETAILS
    )
)


def refresh(agent: Agent, *, collected_at: int | None = None, is_whole: bool = False) -> None:
    """Refresh the global sums of one agent from its file.

    Only days that differ from what is stored are written, with their details. `is_whole` counts the details of every
    recent day again, and sums all agents again, whatever changed.
    """
    days = AgentDailyStat.objects.filter(agent_id=agent.agent_id)
    hours = AgentHour.objects.filter(agent_id=agent.agent_id)
    stored = {row[0]: row for row in days.values_list(*DAY_COLUMNS, *DETAILS)}
    computed = {row[0]: row for row in statements.read_rows(agent.db, DAYS)}
    recent, hour_days = _find_recent(computed)
    changed = {date for date, row in computed.items() if date not in stored or stored[date][: len(row)] != row}
    counted = set(recent)
    if not is_whole:
        counted = {date for date in recent if date in changed or not all(stored[date][-len(DETAILS) :])}
        if 0 < len(counted) < len(recent):
            counted |= _find_other_days(agent.db, counted).intersection(recent)
    details = _count_spans(agent.db, counted, hour_days)
    summary = _read_summary(agent.db) | ({"last_collected_at": collected_at} if collected_at else {})
    with transaction.atomic():
        gone = stored.keys() - computed.keys()
        statements.run(DEFAULT_DB_ALIAS, DELETE_DAYS, [agent.agent_id, encode(sorted(gone))])
        written = changed | counted
        statements.run_many(
            DEFAULT_DB_ALIAS,
            UPSERT_DAY,
            [
                (
                    agent.agent_id,
                    *computed[date],
                    *(details.get(date, NO_DETAILS) if date in counted else NOT_COUNTED)[-2:],
                )
                for date in sorted(written)
            ],
        )
        kept_days = set(hour_days) - counted
        old = {span for span in hours.values_list("span", flat=True) if span[:10] not in kept_days}
        hours.filter(span__in=old).delete()
        new = {span for span in details if "T" in span}
        statements.run_many(
            DEFAULT_DB_ALIAS, INSERT_HOUR, [(agent.agent_id, span, *details[span]) for span in sorted(new)]
        )
        site_sums.refresh(gone | written | old | new)
        before = AgentSummary.objects.filter(agent_id=agent.agent_id).first()
        AgentSummary.objects.update_or_create(agent_id=agent.agent_id, defaults=summary)
    error_sums.refresh(agent, had_errors=bool(before.error_count) if before else None)
    memory_sums.refresh(agent)
    newest_sessions.refresh(agent)
    agents.refresh_database_row(agent)
    if is_whole:
        site_sums.rebuild()


def note_unchanged(agent_ids: Iterable[str], collected_at: int) -> None:
    """Note an import that found nothing new of these agents."""
    AgentSummary.objects.filter(agent_id__in=agent_ids).update(last_collected_at=collected_at)
    AgentDatabase.objects.filter(agent_id__in=agent_ids).update(last_seen_at=collected_at)


def forget_words() -> None:
    """Remove what the first page repeats of conversations, since somebody may have opted out.

    The next import reads it again. SETTING_EFFECTS of the settings names this function.
    """
    newest_sessions.forget_words()
    memory_panel.forget_words()


def find_last_import() -> int | None:
    """Return when anything of any agent was imported last; None before that."""
    return AgentSummary.objects.aggregate(last=Max("last_collected_at"))["last"]


def find_wrong(agent: Agent) -> list[str]:
    """Return the global tables and columns of an agent that differ from what its file gives now.

    Details that nobody counted are not compared, nor hours of such days: a day may have been in the future then.
    """
    summary = _read_summary(agent.db)
    computed = {row[0]: row for row in statements.read_rows(agent.db, DAYS)}
    stored_summary = AgentSummary.objects.filter(agent_id=agent.agent_id).values(*summary).first()
    if stored_summary is None and not computed and not any(summary.values()):
        return []  # nothing was collected yet
    names = [
        f"agent_summaries.{name}"
        for name, value in summary.items()
        if stored_summary is None or is_different(value, stored_summary[name], CLOSE)
    ]
    rows = AgentDailyStat.objects.filter(agent_id=agent.agent_id).values_list(*DAY_COLUMNS, *DETAILS)
    stored = {row[0]: row for row in rows}
    if stored.keys() != computed.keys():
        names.append("agent_daily_stats")
    for date in computed.keys() & stored.keys():
        pairs = zip(DAY_COLUMNS, computed[date], stored[date], strict=False)
        names += [f"agent_daily_stats.{name}" for name, *values in pairs if is_different(*values, CLOSE)]
    counted = {date for date, row in stored.items() if all(row[-len(DETAILS) :])}
    recent, hour_days = _find_recent(computed)
    details = _count_spans(agent.db, counted.intersection(recent), hour_days)
    of_days = [(date, *row[-len(DETAILS) :]) for date, row in stored.items() if date in counted.intersection(recent)]
    counted_days = [(span, *row[-len(DETAILS) :]) for span, row in details.items() if "T" not in span]
    if have_differences(("span", *DETAILS), of_days, counted_days):
        names.append("agent_daily_stats.latency_json")
    return list(
        dict.fromkeys(
            [
                *(_find_wrong_spans(agent, stored, counted.intersection(hour_days), details) if counted else []),
                *names,
                *error_sums.find_wrong(agent),
            ]
        )
    )


def _find_wrong_spans(agent, days, compared, details):
    """Return the tables of hours, writes, and the newest sessions and writes that are wrong."""
    rows = AgentHour.objects.filter(agent_id=agent.agent_id).values_list(*HOUR_COLUMNS)
    stored = [row for row in rows if row[0][:10] in compared or row[0][:10] not in days]
    counted = [(span, *row) for span, row in details.items() if "T" in span]
    wrong = {
        "agent_hours": have_differences(HOUR_COLUMNS, stored, counted),
        "newest_sessions": newest_sessions.is_wrong(agent),
        "newest_writes": memory_panel.is_wrong(agent),
        "memory_spans": memory_sums.is_wrong(agent),
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]


def _find_recent(dates):
    """Return the days whose details are counted, and those of them that have hours; none of the future."""
    today = utc_day(clock.now_ms())
    past = sorted(date for date in dates if date <= today)
    if not past:
        return [], []
    first, first_hours = (day_before(past[-1], count - 1) for count in (site_sums.KEPT_DAYS, HOUR_DAYS))
    return [date for date in past if date >= first], [date for date in past if date >= first_hours]


def _find_other_days(db, days):
    listed = [encode([start_of(date) for date in days]), encode(sorted(days))]
    return {utc_day(number * DAY_MS) for (number,) in statements.read_rows(db, OTHER_DAYS, listed)}


def _count_spans(db, days, hour_days):
    """Return the sums of these days by span, and those of their hours where the days have some."""
    if not days:
        return {}
    starts = encode(sorted(map(start_of, days)))
    return {row[0]: row[1:] for row in statements.read_rows(db, SPAN_SUMS, [starts, starts, start_of(hour_days[0])])}


def _read_summary(db):
    rejected = RejectedRecord.objects.using(db)
    unknown = rejected.filter(reason=UNKNOWN_ENVELOPE).count()
    total = Session.objects.using(db).aggregate(
        sessions=Count("id"),
        turns=Sum("turn_count"),
        errors=Sum("error_count"),
        tokens=Sum("total_tokens"),
        cost=Sum("cost_usd"),
        unpriced=Sum("unpriced_tokens"),
        last=Max("last_activity_at"),
    )
    return {
        "session_count": total["sessions"],
        "turn_count": total["turns"] or 0,
        "error_count": total["errors"] or 0,
        "total_tokens": total["tokens"] or 0,
        "cost_usd": total["cost"],
        "unpriced_tokens": total["unpriced"] or 0,
        "rejected_count": rejected.count() - unknown,
        "unknown_envelope_count": unknown,
        "last_activity_at": total["last"],
        "has_repeats": TranscriptEvent.objects.using(db).filter(repeat_of__isnull=False).exists(),
    }
