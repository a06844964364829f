"""The page of statistics of decisions."""

from django.views.decorators.http import require_safe
from ulid import ULID

from agents.decorators import agent_view_for
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.html import render_page
from openclaw_web.pages.templates import url_or_none

from ... import verdict_store
from ...models import MemoryGateDecision
from .. import figures, sums
from ..figures import GROUPINGS
from ..statistics_query import read_statistics
from . import page_context
from .forms import StatisticsForm

TEMPLATE = "gate/statistics.html"


@require_safe
@agent_view_for("viewer")
def statistics(request, agent):
    """Show figures of decisions by day, week, session, model or prompt version.

    Shares of decisions, latency, tokens, cost and failures.
    """
    form = StatisticsForm(request.GET)
    if not sums.is_on():
        return render_page(request, TEMPLATE, {"agent": agent, "state": "off"})
    if not sums.ensure_complete(agent.db):
        return render_page(request, TEMPLATE, {"agent": agent, "state": "calculating", "job": sums.find_job(agent.db)})
    is_whole = verdict_store.refresh(agent)
    query = form.build_query(agent.db)
    result = read_statistics(agent.db, query, **read_cursors(request))
    is_empty = not result.daily.rows and not result.rows
    is_narrowed = query.model or query.prompt
    models, prompts = (figures.read_daily_sums(agent.db, query.period) if is_narrowed else result.daily).names
    context = {
        "agent": agent,
        "state": "ready",
        "is_whole": is_whole,
        "draw": url_or_none("datasets:decisions_draw", agent.agent_id) if request.user.has_role("labeller") else "",
        "draw_id": str(ULID()),
        "query": query,
        "result": result,
        "groupings": GROUPINGS,
        "models": models,
        "prompts": prompts,
        "is_empty": is_empty,
        "has_any": not is_empty or MemoryGateDecision.objects.using(agent.db).exists(),
        **page_context.build_page_context(agent, result),
    }
    return render_page(request, TEMPLATE, context)
