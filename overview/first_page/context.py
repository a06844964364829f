"""Everything that the first page shows, from global sums and a few rows of a few agents' files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from agents import omissions, unread_parts
from agents.claims import find_home_names
from openclaw_web.pages.small_charts import Sparkline
from problems.overview import build_problem_panel
from problems.words import open_rows

from .. import future_times
from ..activity import AgentRow, RangeSums, links_of, rows_in, sparks_in, summaries, totals
from ..models import AgentSummary
from ..ranges import LABELS, chosen_name, range_of
from ..site_sums import last_moment, spans_between
from . import memory_panel, newest
from .arrival import arrival_of
from .tiles import Overview, activity_chart, cost_chart, tiles_of

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


def context_of(query: Mapping[str, str], user: Any) -> dict[str, Any]:
    """The context of the page for an address and whoever looks."""
    agents = summaries("-last_activity_at")
    context: dict[str, Any] = {
        "arrival": arrival_of(bool(agents)),
        "notes": [
            *unread_parts.describe_newer_schemas(),
            future_times.describe_future(future_times.count_future(agents)),
        ],
        "left_out": omissions.describe_omissions(),
        "totals": totals(agents),
        "agents": [],
        "needs": build_problem_panel(user),
    }
    if not agents:
        return context
    overview, is_shifted = overview_of(chosen_name(query), agents)
    return context | {
        "overview": overview,
        "is_shifted": is_shifted,
        "ranges": LABELS,
        "tiles": tiles_of(overview),
        "charts": [activity_chart(overview), cost_chart(overview)],
        "lines": memory_panel.changed_lines(),
        "sessions": newest.recent_sessions(),
        "agents": _agent_lines(overview, agents[:AGENTS_SHOWN]),
        "homes": find_home_names(),
    }


def overview_of(name: str, agents: Sequence[AgentSummary]) -> tuple[Overview, bool]:
    """The sums of a range, and whether it ends before now because nothing happened since."""
    period, is_shifted = range_of(name, last_moment())
    sums = spans_between(period.before.first_span, period.last_span)
    return Overview.of(name, period, sums, agents[0] if len(agents) == 1 else None), is_shifted


def _agent_lines(overview, agents):
    ids = [agent.agent_id for agent in agents]
    rows = {row.agent_id: row for row in rows_in(overview.period, ids)}
    sparks, overdue = sparks_in(overview.period, ids), _overdue(ids)
    return [
        _line(overview, agent, rows.get(agent.agent_id), sparks.get(agent.agent_id), overdue.get(agent.agent_id, 0))
        for agent in agents
    ]


def _line(overview, agent, row: AgentRow | None, spark, overdue):
    links = row.links if row else links_of(agent.agent_id, overview.period, agent.has_repeats)
    return AgentLine(agent, row.sums if row else RangeSums(), links, spark, overdue)


def _overdue(agent_ids):
    """How many scheduled tasks of each agent are overdue, as problems say."""
    rows = open_rows().filter(kind=OVERDUE, agent_id__in=agent_ids).order_by()
    return dict(rows.values_list("agent_id").annotate(count=Count("id")))
