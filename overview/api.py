"""Endpoints of the sums of all agents in the JSON API."""

from django.db.models import Sum
from ninja import Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs
from openclaw_web.sqlite.fields import KnownCost

from . import activity, future_times
from .first_page.context import build_overview
from .memory_list import MEMORY
from .models import AgentDailyStat, AgentSummary
from .schemas import (
    SUMMARY_ORDERS,
    DayOut,
    MemoryOut,
    MemoryQuery,
    OverviewOut,
    OverviewQuery,
    SummaryOut,
    SummaryQuery,
)

router = Operations("operations_api", tags=["operations"])


@router.get("/overview", OverviewOut)
@needs("viewer")
def overview_sums(request, filters: Query[OverviewQuery]):
    """The activity of all agents: in total, and on the latest days with activity."""
    sums = {name: Sum(name) for name in DayOut.model_fields if name != "date"}
    days = AgentDailyStat.objects.values("date").annotate(**sums).order_by("-date")[: filters.days]
    rows = AgentSummary.objects.all()
    chosen = {"range": range_out(filters.range, list(rows))} if filters.range else {}
    return {
        "totals": activity.sum_summaries(rows) | future_times.count_future(rows),
        "days": list(days)[::-1],
        **chosen,
    }


def range_out(name, agents):
    """Return a range as the first page shows it."""
    overview, is_shifted = build_overview(name, agents)
    models = overview.now.sums.models.items()
    return {
        "name": name,
        "from_ts": overview.period.start_ms,
        "to_ts": overview.period.end_ms,
        "is_shifted": is_shifted,
        "now": overview.now,
        "before": overview.before,
        "models": [{"model": model, "cost": cost, "unpriced": unpriced} for model, (cost, unpriced) in models],
    }


@router.get("/overview/agents", Page[SummaryOut], 409)
@needs("viewer")
def overview_agents(request, filters: Query[SummaryQuery]):
    """The activity of each agent, by id or in another order."""
    return page_to_json(
        page_of(
            AgentSummary.objects.annotate(known_cost=KnownCost()), order=SUMMARY_ORDERS[filters.sort], **filters.place
        )
    )


@router.get("/operations/memory", Page[MemoryOut], 409)
@needs("viewer")
def memory_list(request, filters: Query[MemoryQuery]):
    """Whether prompts hold the memory files of every agent, as of the last import.

    The worst come first.
    """
    return page_to_json(MEMORY.fits(request.user, **filters.criteria()).page(**filters.place))
