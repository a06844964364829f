"""Statistics of decisions over the JSON API."""

from typing import Any

from ninja import Query

from agents.decorators import agent_view
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.doors import needs

from ... import judgments
from .. import sums, words
from ..answer import answer, asked
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
    if not sums.settle(agent.db):
        return {"state": "calculating", "by": filters.by, **NOTHING}
    is_whole = judgments.refresh(agent)
    wanted = asked(agent.db, **filters.wanted)
    found = answer(agent.db, wanted, **filters.place)
    return {
        "state": "ready",
        "by": wanted.by,
        "first_day": str(wanted.period.start),
        "last_day": str(wanted.period.end),
        "total": words.amounts(found.total),
        "judged": found.verdicts and {**found.verdicts.as_json(), "is_whole": is_whole},
        "items": [words.shaped(row) for row in found.rows],
        "drift": found.drifts,
        "prompt_changes": found.prompt_changes,
        "reasons": found.repeated.groups if found.repeated else [],
        "reasons_looked_at": found.repeated.looked_at if found.repeated else 0,
        "next": found.rows.next,
        "previous": found.rows.previous,
    }
