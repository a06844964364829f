"""Sums, compared with what they are sums of: those of sessions with records, those of agents with sessions and days."""

from collections.abc import Iterator

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from ledger.models import RemovedSession, SessionDay
from ledger.rebuilding import repeats, sum_checks, sums, whole_checks
from openclaw_web.pages.formatting import listed
from overview import site_sums, summaries
from overview.models import AgentDailyStat, AgentSummary, SiteSpan

from ..findings import NOTE, Finding, first_of

OF_SESSIONS = "session_sums"
SUMS_NAMED = 4


def look(agent: Agent, *, is_deep: bool = False) -> Iterator[Finding]:
    """What of an agent's sums is not what its records add up to. `is_deep` compares every derived column."""
    found = wrong(agent.db, is_deep=is_deep)
    if found:
        yield _of_sessions(agent, found)
    if sum_checks.are_tool_days_wrong(agent.db):
        sentence = _("The totals of outputs by tool and day of agent %(agent)s do not match its sessions.")
        yield Finding("tool_sums", sentence % {"agent": agent.agent_id}, repair="sums", agent=agent.agent_id)
    if names := _of_agent(agent):
        sentence = _("The totals of agent %(agent)s do not match its sessions and days: %(names)s.")
        words = {"agent": agent.agent_id, "names": listed(names[:SUMS_NAMED])}
        yield Finding("sums", sentence % words, repair="sums", agent=agent.agent_id)
    if is_deep:
        yield from _uncheckable(agent)


def look_at_site() -> Iterator[Finding]:
    """Whether the sums of all agents are those of their rows."""
    if SiteSpan.objects.exists() and site_sums.are_wrong():
        yield Finding(
            "site_sums", _("The totals of all agents by day do not match those of each agent."), repair="site_sums"
        )


def wrong(db: str, *, is_deep: bool = False) -> dict[str, list[str]]:
    """Which sums of which sessions are not what their records add up to."""
    found: dict[str, list[str]] = {}
    for each in (*sum_checks.quick(db), *(whole_checks.whole(db) if is_deep else ())):
        names = found.setdefault(each.session_id, [])
        names += [name for name in each.names if name not in names]
    return dict(sorted(found.items()))


def rebuild(agent: Agent, *, is_deep: bool) -> int:
    """Make all sums of an agent again that are not what its records add up to; of how many sessions."""
    found = wrong(agent.db, is_deep=is_deep)
    repeats.settle(agent.db, is_forced=is_deep)
    for session_id in found:
        sums.rebuild_session(agent.db, session_id)
    sums.rebuild_tool_days(agent.db)
    known = AgentSummary.objects.filter(agent_id=agent.agent_id).values_list("last_collected_at", flat=True).first()
    summaries.refresh(agent, collected_at=known, is_whole=True)
    return len(found)


def _of_sessions(agent, found):
    sentence = ngettext(
        "Totals of %(count)s session of agent %(agent)s do not match its records: %(sessions)s.",
        "Totals of %(count)s sessions of agent %(agent)s do not match their records: %(sessions)s.",
        len(found),
    )
    named = first_of(f"{session_id} ({listed(_few(names))})" for session_id, names in found.items())
    words = {"count": len(found), "agent": agent.agent_id, "sessions": "; ".join(named)}
    return Finding(OF_SESSIONS, sentence % words, repair="sums", agent=agent.agent_id)


def _few(names):
    return names if len(names) <= SUMS_NAMED else [*names[: SUMS_NAMED - 1], "…"]


def _of_agent(agent):
    """The columns of an agent's rows in the global file that are not what its own file adds up to."""
    sums = summaries.count_file(agent)
    days, summary = sums.days, sums.summary
    said = AgentSummary.objects.filter(agent_id=agent.agent_id).values(*summary).first()
    if said is None and not days and not any(summary.values()):
        return []  # nothing was collected yet
    names = [
        f"agent_summaries.{name}" for name in summary if said is None or sum_checks.differ(summary[name], said[name])
    ]
    stored = {row.date: row for row in AgentDailyStat.objects.filter(agent_id=agent.agent_id)}
    if stored.keys() != {day.date for day in days}:
        names.append("agent_daily_stats")
    for day in days:
        known = stored.get(day.date, day)
        for name in ("session_count", *summaries.SUMMED, *summaries.REMOVED):
            if sum_checks.differ(getattr(day, name), getattr(known, name)):
                names.append(f"agent_daily_stats.{name}")
        if not summaries.has_details_of(known, day):
            names.append("agent_daily_stats.latency_json")
    names += summaries.wrong_spans(agent, sums)
    return list(dict.fromkeys(names))


def _uncheckable(agent):
    removed = RemovedSession.objects.using(agent.db).values("session_id")
    days = SessionDay.objects.using(agent.db).filter(session_id__in=removed)
    if count := days.aggregate(count=Count("session_id", distinct=True))["count"]:
        sentence = ngettext(
            "The daily totals of %(count)s removed session of agent %(agent)s were not compared, because its"
            " records are no longer stored. The totals are kept unchanged.",
            "The daily totals of %(count)s removed sessions of agent %(agent)s were not compared, because "
            "their records are no longer stored. The totals are kept unchanged.",
            count,
        )
        words = {"count": count, "agent": agent.agent_id}
        yield Finding("sums_unchecked", sentence % words, level=NOTE, agent=agent.agent_id)
