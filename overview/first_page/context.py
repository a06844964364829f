"""The context of the first page, from global sums and a few rows of agents' files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from agents import omissions, unread_parts
from agents.claims import find_home_names
from agents.models import Agent
from openclaw_web.pages.small_charts import Sparkline
from problems.overview import build_problem_panel
from problems.words import open_rows

from .. import future_times
from ..activity import (
    AgentRow,
    RangeSums,
    build_links,
    build_sparklines,
    read_agent_rows,
    read_summaries,
    sum_summaries,
)
from ..agent_facts import read_facts
from ..models import AgentSummary
from ..ranges import LABELS, find_range, read_range_name
from ..site_sums import find_last_moment, read_spans
from . import memory_panel, newest_sessions
from .first_import import find_first_import
from .tiles import Overview, build_activity_chart, build_cost_chart, build_tiles

AGENTS_SHOWN = 20
OVERDUE = "task_overdue"  # a kind of problem


@dataclass(frozen=True, slots=True)
class AgentLine:
    """An agent in the table of the first page."""

    summary: AgentSummary
    sums: RangeSums
    links: Any
    spark: Sparkline | None
    overdue: int


def build_context(query: Mapping[str, str], user: Any, agent: Agent | None = None) -> dict[str, Any]:
    """Build the context of the page of all agents, or of one, for the query of its address and a user."""
    whose = {"agent_id": agent.agent_id} if agent else {}
    agents = [row for row in read_summaries("-last_activity_at") if not agent or row.agent_id == agent.agent_id]
    context: dict[str, Any] = {
        "agent": agent,
        "first_import": None if agent else find_first_import(bool(agents)),
        "notes": [
            *[unread_parts.describe_newer(key, parts) for key, parts in unread_parts.find_newer_parts()],
            future_times.describe_future(future_times.count_future(agents)),
        ],
        "left_out": omissions.describe_omissions(**whose),
        "totals": sum_summaries(agents),
        "agents": [],
        "needs": build_problem_panel(user, **whose),
        "facts": None,
    }
    if not agents:
        return context
    overview, is_shifted = build_overview(read_range_name(query), agents, **whose)
    return context | {
        "overview": overview,
        "is_shifted": is_shifted,
        "ranges": LABELS,
        "tiles": build_tiles(overview),
        "charts": [build_activity_chart(overview), build_cost_chart(overview)],
        "changed_lines": memory_panel.read_changed_lines(**whose),
        "sessions": newest_sessions.read_newest_sessions(**whose),
        "facts": read_facts(agent, overview.period) if agent else None,
        "agents": _build_agent_lines(overview, agents[:AGENTS_SHOWN]),
        "homes": find_home_names(),
    }


def build_overview(name: str, agents: Sequence[AgentSummary], agent_id: str = "") -> tuple[Overview, bool]:
    """Build the sums of a range, of all agents or of one.

    Also returns whether it ends before now, with the last activity.
    """
    period, is_shifted = find_range(name, agents[0].last_activity_at if agent_id else find_last_moment())
    sums = read_spans(period.before.first_span, period.last_span, agent_id)
    return Overview.from_sums(name, period, sums, agents), is_shifted


def _build_agent_lines(overview, agents):
    ids = [agent.agent_id for agent in agents]
    rows = {row.agent_id: row for row in read_agent_rows(overview.period, ids)}
    sparks, overdue = build_sparklines(overview.period, ids), _count_overdue(ids)
    return [
        _build_agent_line(
            overview, agent, rows.get(agent.agent_id), sparks.get(agent.agent_id), overdue.get(agent.agent_id, 0)
        )
        for agent in agents
    ]


def _build_agent_line(overview, agent, row: AgentRow | None, spark, overdue):
    links = row.links if row else build_links(agent.agent_id, overview.period, agent.has_repeats)
    return AgentLine(agent, row.sums if row else RangeSums(), links, spark, overdue)


def _count_overdue(agent_ids):
    """Count the overdue scheduled tasks of each agent, as problems report them."""
    rows = open_rows().filter(kind=OVERDUE, agent_id__in=agent_ids).order_by()
    return dict(rows.values_list("agent_id").annotate(count=Count("id")))
