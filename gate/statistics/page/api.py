"""Statistics of decisions over the JSON API."""

from typing import Any

from ninja import Query

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from ... import verdict_store
from .. import figure_format, sums
from ..statistics_query import build_query, read_statistics
from .schemas import GateStatisticsOut, GateStatisticsQuery

router = Operations("gate_statistics_api", tags=["gate"])
NOTHING: dict[str, Any] = {"items": [], "next": None, "previous": None}


@router.get("/agents/{agent}/gate/statistics", GateStatisticsOut, 404, 409, 503)
@agent_view
@needs("viewer")
def gate_statistics(request, agent, filters: Query[GateStatisticsQuery]):
    """Shares of decisions, latency, tokens, cost and failures, by day, week, session, model or prompt version."""
    if not sums.is_on():
        return {"state": "off", "by": filters.by, **NOTHING}
    if not sums.ensure_complete(agent.db):
        return {"state": "calculating", "by": filters.by, **NOTHING}
    is_whole = verdict_store.refresh(agent)
    wanted = build_query(agent.db, **filters.wanted)
    found = read_statistics(agent.db, wanted, **filters.place)
    return {
        "state": "ready",
        "by": wanted.by,
        "first_day": str(wanted.period.start),
        "last_day": str(wanted.period.end),
        "total": figure_format.figures_to_json(found.total),
        "judged": found.verdicts and {**found.verdicts.as_json(), "is_whole": is_whole},
        "items": [figure_format.row_to_json(row) for row in found.rows],
        "drift": found.drifts,
        "prompt_changes": found.prompt_changes,
        "reasons": found.repeated.groups if found.repeated else [],
        "reasons_looked_at": found.repeated.looked_at if found.repeated else 0,
        "next": found.rows.next,
        "previous": found.rows.previous,
    }
