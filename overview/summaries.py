"""Rows for comparing agents, computed again from each agent's own file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Sum

from agents import services as agents
from agents.models import Agent
from ledger.models import RejectedRecord, RemovedSession, Session, SessionDay, TranscriptEvent
from ledger.transcripts.rows import TOTALS
from ledger.transcripts.transcript_store import UNKNOWN_ENVELOPE
from ledger.transcripts.turns import utc_day
from openclaw_web import clock
from openclaw_web.sqlite import statements

from . import memory_sums, site_sums
from .first_page import memory_panel, newest_sessions
from .models import AgentDailyStat, AgentHour, AgentSummary
from .span_sums import DAY_MS, SpanSums, are_different, day_before, find_changes, start_of, sum_hours, sum_spans

SUMMED_COLUMNS = (*TOTALS, "turn_count", "record_count")
REMOVED_COLUMNS = {"removed_turn_count": "turn_count", "removed_error_count": "error_count"}
DETAILS = ("latency_json", "models_json")
HOUR_DAYS = 4  # days with hours: a range of 24 hours and the one before it span three of them
# Days whose turns change with the records of a day: turns that continue, and sessions with an abandoned branch.
OTHER_DAYS = """
    SELECT DISTINCT turns.created_at / 86400000 FROM (
        SELECT DISTINCT session_id, turn_number FROM transcript_events
        WHERE created_at >= %s AND created_at < %s AND turn_number IS NOT NULL) records
    JOIN conversation_turns turns
        ON turns.session_id = records.session_id AND turns.turn_number = records.turn_number
    UNION
    SELECT DISTINCT turns.created_at / 86400000 FROM session_days days
    JOIN conversation_turns turns ON turns.session_id = days.session_id
    WHERE days.date = %s AND EXISTS (SELECT 1 FROM transcript_events aside
        WHERE aside.session_id = days.session_id AND NOT aside.is_active)
"""


@dataclass(slots=True)
class FileSums:
    """The sums of an agent's file; `hours` has those of the days that were counted again."""

    days: list[AgentDailyStat]
    summary: dict[str, Any]
    hours: dict[str, dict[str, SpanSums]] = field(default_factory=dict)  # by day


def refresh(agent: Agent, *, collected_at: int | None = None, is_whole: bool = False) -> None:
    """Refresh the global sums of one agent from its file.

    `is_whole` counts the details of every recent day again, and sums all agents again, whatever changed.
    """
    known = {day.date: day for day in AgentDailyStat.objects.filter(agent_id=agent.agent_id)}
    sums = count_file(agent, None if is_whole else known)
    if collected_at:
        sums.summary["last_collected_at"] = collected_at
    with transaction.atomic():
        site_sums.add_changes(_store(agent, sums))
        AgentSummary.objects.update_or_create(agent_id=agent.agent_id, defaults=sums.summary)
    memory_sums.refresh(agent)
    newest_sessions.refresh(agent)
    agents.refresh_database_row(agent)
    if is_whole:
        site_sums.rebuild()


def forget_words() -> None:
    """Remove what the first page repeats of conversations, since somebody may have opted out.

    The next import reads it again. SETTING_EFFECTS of the settings names this function.
    """
    newest_sessions.forget_words()
    memory_panel.forget_words()


def find_last_import() -> int | None:
    """Return when anything of any agent was imported last; None before that."""
    return AgentSummary.objects.aggregate(last=Max("last_collected_at"))["last"]


def count_file(agent: Agent, known: Mapping[str, AgentDailyStat] | None = None) -> FileSums:
    """Count an agent's own file: rows by day, not saved, hours, and its summary.

    Days that are as in `known` keep its details; without `known` the details of all recent days are counted.
    """
    days = _build_days(agent)
    sums = FileSums(days, _build_summary(agent))
    recent = [day for day in days if day.date <= utc_day(clock.now_ms())]
    if not recent:
        return sums
    last = date.fromisoformat(recent[-1].date)
    recent = [day for day in recent if day.date >= day_before(last, site_sums.KEPT_DAYS - 1)]
    changed = _find_changed(agent.db, recent, known or {})
    for day in days:
        if day.date not in changed:
            _copy_details(day, (known or {}).get(day.date))
            continue
        hours = sum_hours(agent.db, day.date)
        for name, text in sum_spans(hours.values()).detail_columns().items():
            setattr(day, name, text)
        if day.date > day_before(last, HOUR_DAYS):
            sums.hours[day.date] = hours
    return sums


def has_same_details(known: AgentDailyStat, day: AgentDailyStat) -> bool:
    """Return whether a stored day has the details of a counted one; uncounted ones are right."""
    is_counted = all(getattr(row, name) for row in (known, day) for name in DETAILS)
    return not is_counted or SpanSums.from_row(known).is_close_to(SpanSums.from_row(day))


def find_wrong_spans(agent: Agent, sums: FileSums) -> list[str]:
    """Return the tables whose rows of an agent differ from its file.

    These are hours, memory writes, and the newest sessions and writes.
    """
    details = dict(AgentDailyStat.objects.filter(agent_id=agent.agent_id).values_list("date", "latency_json"))
    is_counted = any(details.values())
    compared = [day for day in sums.hours if details.get(day)]  # a day that was in the future then has no hours yet
    hours = {hour.span: SpanSums.from_row(hour) for hour in AgentHour.objects.filter(agent_id=agent.agent_id)}
    hours = {span: hour for span, hour in hours.items() if span[:10] in compared or span[:10] not in details}
    counted = {span: hour for day in compared for span, hour in sums.hours[day].items()}
    names = ["agent_hours"] if is_counted and are_different(hours, counted) else []
    names += ["newest_sessions"] if is_counted and newest_sessions.is_wrong(agent) else []
    names += ["newest_writes"] if is_counted and memory_panel.is_wrong(agent) else []
    return names + (["memory_spans"] if is_counted and memory_sums.is_wrong(agent) else [])


def _build_days(agent):
    sums = {f"sum_{name}": Sum(name) for name in SUMMED_COLUMNS}
    rows = SessionDay.objects.using(agent.db)
    days = rows.values("date").annotate(session_count=Count("session_id"), **sums)
    removed = _sum_removed(agent.db, rows)
    return [
        AgentDailyStat(
            agent_id=agent.agent_id,
            date=day["date"],
            session_count=day["session_count"],
            **{name: day[f"sum_{name}"] for name in SUMMED_COLUMNS},
            **removed.get(day["date"], {}),
        )
        for day in days.order_by("date")
    ]


def _sum_removed(db, rows):
    """Return the turns and errors of removed sessions, by day."""
    ids = RemovedSession.objects.using(db).values("session_id")
    if not ids.exists():
        return {}
    sums = {name: Sum(column) for name, column in REMOVED_COLUMNS.items()}
    days = rows.filter(session_id__in=ids).order_by().values("date").annotate(**sums)
    return {day.pop("date"): day for day in list(days)}


def _find_changed(db, days, known):
    """Return the days among `days` whose details have to be counted."""
    changed = {day.date for day in days if not _is_as_known(day, known.get(day.date))}
    if len(changed) < len(days):
        changed = changed.union(*(_find_other_days(db, day) for day in changed))
    return changed & {day.date for day in days}


def _is_as_known(day, known):
    names = ("session_count", *SUMMED_COLUMNS, *REMOVED_COLUMNS)
    is_counted = known is not None and all(getattr(known, name) for name in DETAILS)
    return is_counted and all(getattr(day, name) == getattr(known, name) for name in names)


def _find_other_days(db, day):
    start = start_of(day)
    return {
        utc_day(number * DAY_MS) for (number,) in statements.read_rows(db, OTHER_DAYS, [start, start + DAY_MS, day])
    }


def _copy_details(day, known):
    for name in DETAILS if known else ():
        setattr(day, name, getattr(known, name))


def _store(agent, sums):
    """Store the rows of days and hours; return the changes of all agents' sums."""
    days = AgentDailyStat.objects.filter(agent_id=agent.agent_id)
    days_before = {day.date: SpanSums.from_row(day) for day in days}
    days.delete()
    AgentDailyStat.objects.bulk_create(sums.days)
    hours = AgentHour.objects.filter(agent_id=agent.agent_id)
    hours_before = {hour.span: SpanSums.from_row(hour) for hour in hours}
    hours_after = _merge_hours(hours_before, sums)
    changes = list(find_changes(hours_before, hours_after))
    hours.filter(span__in=[span for span, _change in changes]).delete()
    AgentHour.objects.bulk_create(
        AgentHour(agent_id=agent.agent_id, span=span, **hours_after[span].columns())
        for span, _change in changes
        if span in hours_after
    )
    return [*find_changes(days_before, {day.date: SpanSums.from_row(day) for day in sums.days}), *changes]


def _merge_hours(before, sums):
    """Return the hours to keep, and those that were counted again."""
    days = {day.date for day in sums.days if day.date <= utc_day(clock.now_ms())}
    first = day_before(date.fromisoformat(max(days)), HOUR_DAYS - 1) if days else ""
    after = {
        span: hour
        for span, hour in before.items()
        if span[:10] in days and span[:10] >= first and span[:10] not in sums.hours
    }
    for hours in sums.hours.values():
        after |= hours
    return after


def _build_summary(agent):
    rejected = RejectedRecord.objects.using(agent.db)
    unknown = rejected.filter(reason=UNKNOWN_ENVELOPE).count()
    total = Session.objects.using(agent.db).aggregate(
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
        "has_repeats": TranscriptEvent.objects.using(agent.db).filter(repeat_of__isnull=False).exists(),
    }
