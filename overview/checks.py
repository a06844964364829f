"""The doctor's checks of totals: they must be the sums of files and of agents."""

from typing import Any

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from agents.models import Agent, CollectorSource
from openclaw_web.sqlite.integrity import DIFFERENT, Check, Reference, build_reference_check
from openclaw_web.sqlite.row_comparison import CLOSE

from . import site_sums, summaries
from .models import AgentDailyStat, AgentSummary, SiteSpan


def is_different(value: Any, other: Any) -> bool:
    """Whether two values of a column differ; costs are compared with a tolerance."""
    if isinstance(value, float) and isinstance(other, float | int):
        return abs(value - other) > CLOSE * max(1, abs(value))
    return bool(value != other)


def wrong_totals(db: str) -> list[str]:
    """Return the global columns of an agent that differ from the sums of its own file."""
    agent = Agent.objects.get(agent_id=db.removeprefix("agent_"))
    sums = summaries.count_file(agent)
    days, summary = sums.days, sums.summary
    stored = AgentSummary.objects.filter(agent_id=agent.agent_id).values(*summary).first()
    if stored is None and not days and not any(summary.values()):
        return []  # nothing was collected yet
    names = [
        f"agent_summaries.{name}" for name in summary if stored is None or is_different(summary[name], stored[name])
    ]
    known_days = {row.date: row for row in AgentDailyStat.objects.filter(agent_id=agent.agent_id)}
    if known_days.keys() != {day.date for day in days}:
        names.append("agent_daily_stats")
    for day in days:
        known = known_days.get(day.date, day)
        for name in ("session_count", *summaries.SUMMED_COLUMNS, *summaries.REMOVED_COLUMNS):
            if is_different(getattr(day, name), getattr(known, name)):
                names.append(f"agent_daily_stats.{name}")
        if not summaries.has_same_details(known, day):
            names.append("agent_daily_stats.latency_json")
    return list(dict.fromkeys([*summaries.find_wrong_spans(agent, sums), *names]))


AGENTS = (
    Reference(AgentSummary, "agent_id", Agent, key="agent_id"),
    Reference(CollectorSource, "agent_id", Agent, key="agent_id", where=~Q(agent_id="")),
)


def _find_wrong_site_spans(_db):
    return ["site_spans"] if SiteSpan.objects.exists() and site_sums.are_wrong() else []


def _rebuild_site_sums(_agent):
    site_sums.rebuild()
    return 1


CHECKS = (
    Check(
        name="sums",
        sentence=DIFFERENT,
        noun="totals",
        target=_("the sessions and days"),
        find=wrong_totals,
        repair=lambda agent: len(wrong_totals(agent.db)),  # whoever repairs rows of an agent adds it up again
        is_last=True,
        reads="ledger",
    ),
    Check(
        name="site_sums",
        sentence=DIFFERENT,
        noun="totals",
        target=_("the totals of the agents"),
        find=_find_wrong_site_spans,
        repair=_rebuild_site_sums,
    ),
    build_reference_check("orphan", *AGENTS, target=_("an agent"), is_note=True),
)
