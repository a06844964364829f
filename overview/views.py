"""The first page, the list of agents, and the answer to "are you there"."""

from django.contrib.auth.decorators import login_not_required
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpResponse
from django.views.decorators.http import require_GET, require_safe

from agents import omissions, presence, unread_parts
from openclaw_web.lists.answers import answer
from openclaw_web.lists.declaration import shows
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import render_page
from openclaw_web.sqlite import statements

from . import future_times
from .activity import COLUMNS, DEFAULT_RANGE, RANGES, activity, read_period, removed_turns, summaries, sums_in, totals
from .memory_list import MEMORY

AGENTS_SHOWN = 20


@require_GET
@needs("viewer")
def overview(request):
    """All agents together: sums, days, and a row for each."""
    chosen = request.GET.get("days", "")
    chosen = chosen if chosen in RANGES else DEFAULT_RANGE
    rows = summaries("-last_activity_at")
    context = {
        "agents": rows[:AGENTS_SHOWN],
        "columns": COLUMNS,
        "totals": totals(rows),
        "removed_turns": removed_turns(rows),
        "chart": activity(chosen, rows),
        "chosen": chosen,
        "ranges": list(RANGES),
        "problems": presence.told(),
        "notes": [*unread_parts.newer_schemas(), future_times.describe_future(future_times.count_future(rows))],
        "left_out": omissions.describe(),
    }
    return render_page(request, "overview/overview.html", context)


@require_GET
@needs("viewer")
def agent_list(request):
    """Every agent in a row, with ?from= and ?to= what each did in those days."""
    period = read_period(request.GET.get("from", ""), request.GET.get("to", ""))
    order = request.GET.get("sort", "")
    order = order if order.removeprefix("-") in COLUMNS else "agent_id"
    context = {"period": period, "columns": COLUMNS, "order": order, "problems": presence.told()}
    context["left_out"] = omissions.describe()
    if period:
        context["sums"] = sums_in(period)
    else:
        context["agents"] = summaries(order)
    return render_page(request, "overview/agent_list.html", context)


@require_safe
@needs("viewer")
@shows(MEMORY)
def memory_list(request):
    """Whether prompts hold the memory files of every agent; as a file with `format`."""
    return answer(request, "overview/memory_list.html", MEMORY)


@require_GET
@login_not_required
def healthz(request):
    """200 while the global file can be read."""
    statements.one(DEFAULT_DB_ALIAS, "SELECT 1")
    return HttpResponse("ok", content_type="text/plain")
