"""The first page, the list of agents, the list of memory files, and the health check."""

from django.contrib.auth.decorators import login_not_required
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_safe
from django_htmx.http import trigger_client_event

from agents import database_loss, omissions
from agents.claims import find_home_names
from agents.decorators import agent_view_for
from datasets.queues.queue_store import list_queues
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.html import redirect_to, render_page
from openclaw_web.pages.roles import needs
from openclaw_web.sqlite import statements
from people.authentication.sign_ins import FIRST_VISIT

from .activity import COLUMNS, RANGE_COLUMNS, read_agent_rows, read_summaries, sort_rows, sum_rows
from .first_page import context
from .memory_list import MEMORY
from .ranges import read_range

QUEUES_FIRST = "queues_first"  # key in the session of a labeller who has been sent to their queues


@require_GET
@agent_view_for("viewer", of_all=True)
def overview(request, agent):
    """Show problems, the sums of a range, and a row for each agent; or the page of one agent.

    The first page of a labeller for whom a review queue waits is the list of queues.
    """
    is_first = agent is None and request.user.role == "labeller" and QUEUES_FIRST not in request.session
    if is_first and any(count for _queue, count in list_queues(request.user)):
        request.session[QUEUES_FIRST] = True  # the next time this page is what it is for others
        return redirect_to(request, reverse("datasets:queue_list"))
    values = context.build_context(request.GET, request.user, agent)
    if values["agents"] and not values["first_import"] and request.session.pop(FIRST_VISIT, False):
        return redirect_to(request, reverse("collecting:import_summary"))
    response = render_page(request, "overview/overview.html", values)
    # During a first import the page polls itself; the event refreshes the numbers in the rail with it.
    return trigger_client_event(response, "judged") if request.htmx else response


@require_GET
@needs("viewer")
def agent_list(request):
    """Show every agent in a row; with ?from= and ?to= its activity in that time."""
    period = read_range(request.GET.get("from", ""), request.GET.get("to", ""))
    columns = RANGE_COLUMNS if period else COLUMNS
    order = request.GET.get("sort", "")
    order = order if order.removeprefix("-") in columns else "-turns" if period else "agent_id"
    values = {"period": period, "columns": columns, "order": order, "problems": database_loss.describe_problems()}
    values |= {"left_out": omissions.describe_omissions(), "homes": find_home_names()}
    if period:
        rows = read_agent_rows(period)
        values |= {"rows": sort_rows(rows, order), "total": sum_rows(rows)}
    else:
        values["agents"] = read_summaries(order)
    return render_page(request, "overview/agent_list.html", values)


@require_safe
@needs("viewer")
@shows(MEMORY)
def memory_list(request):
    """Show whether prompts hold the memory files of every agent; as a file with `format`."""
    return render_list(request, "overview/memory_list.html", MEMORY)


@require_safe
@needs("viewer")
def memory_list_before(request):
    """Lead from the old address of the list of memory files to its page."""
    return redirect_to(request, f"{reverse('overview:memory_list')}?{request.GET.urlencode()}")


@require_GET
@login_not_required
def healthz(request):
    """Return 200 while the global file can be read."""
    statements.read_row(DEFAULT_DB_ALIAS, "SELECT 1")
    return HttpResponse("ok", content_type="text/plain")
