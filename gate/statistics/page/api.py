"""Statistics of decisions over the JSON API."""

from typing import Any

from ninja import Query

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations

from ... import verdict_store
from .. import figure_format, sums
from ..statistics_query import build_query, read_statistics
from .schemas import GateStatisticsOut, GateStatisticsQuery

router = Operations("gate_statistics_api", tags=["gate"])
NOTHING: dict[str, Any] = {"items": [], "next": None, "previous": None}


@router.get("/agents/{agent}/gate/statistics", GateStatisticsOut, 404, 409, 503)
@agent_view_for("viewer")
def gate_statistics(request, agent, filters: Query[GateStatisticsQuery]):
    """Shares of decisions, latency, tokens, cost and failures of decisions.

    Rows are days, weeks, sessions, models or prompt versions.
    """
    if not sums.is_on():
        return {"state": "off", "by": filters.by, **NOTHING}
    if not sums.ensure_complete(agent.db):
        return {"state": "calculating", "by": filters.by, **NOTHING}
    is_whole = verdict_store.refresh(agent)
    query = build_query(agent.db, **filters.query_arguments)
    result = read_statistics(agent.db, query, **filters.place)
    return {
        "state": "ready",
        "by": query.by,
        "first_day": str(query.period.start),
        "last_day": str(query.period.end),
        "total": figure_format.figures_to_json(result.total),
        "judged": result.verdicts and {**result.verdicts.as_json(), "is_whole": is_whole},
        "items": [figure_format.row_to_json(row) for row in result.rows],
        "drift": result.drifts,
        "prompt_changes": result.prompt_changes,
        "reasons": result.repeated.groups if result.repeated else [],
        "reasons_looked_at": result.repeated.compared_count if result.repeated else 0,
        "next": result.rows.next,
        "previous": result.rows.previous,
    }
