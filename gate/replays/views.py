"""Pages of replays: the list, one replay, and a new one."""

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from jobs.notices import redirect_after_start
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import redirect_to, refuse_post, render_page

from .. import verdict_store
from ..lists.decision_list import DecisionFilters
from ..models import GatePrompt, GateReplay
from . import comparison, pairs, plans, replay_launch, replay_request, replay_status, results
from .forms import ReplayForm


@require_safe
@agent_view_for("viewer")
def replay_list(request, agent):
    """Show the replays of an agent, the newest first."""
    page = replay_status.read_replay_page(agent, **read_cursors(request))
    context = {"agent": agent, "page": page, "rows": replay_status.read_statuses(page)}
    return render_page(request, "gate/replay_list.html", context)


@require_safe
@agent_view_for("viewer")
def replay_detail(request, agent, replay_id):
    """Show the result of a replay, and the decisions that changed.

    While it runs, the page shows its progress.
    """
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    verdict_store.refresh(agent)
    result = results.read_result(agent.db, replay)
    compared = comparison.compare_replay(agent.db, replay)
    counts = pairs.count_pairs(agent.db, replay, result, compared)
    pair_filter = pairs.PairsForm(request.GET).read_filter(counts)
    fitting = pairs.filter_pairs(agent.db, replay.id, pair_filter, compared)
    rows = page_of(fitting, order=("number",), **read_cursors(request))
    context = {
        "agent": agent,
        "replay": replay,
        "replay_status": replay_status.read_statuses([replay])[0],
        "chosen": replay_request.describe_filters(replay.chosen),
        "result": result,
        "comparison": compared,
        "pairs": pair_filter,
        "kinds": [(kind, label, counts[kind]) for kind, label in pairs.KIND_LABELS.items()],
        "page": rows,
        "rows": results.pair_with_originals(agent.db, rows),
        "is_prompt_kept": GatePrompt.objects.using(agent.db).filter(id=replay.prompt_version).exists(),
    }
    return render_page(request, "gate/replay_detail.html", context, partial="replay_state")


@require_safe
@agent_view_for("operator")
def replay_new(request, agent):
    """Show the form for a replay of the decisions that fit the address's filters."""
    filters = DecisionFilters(request.GET).validate()
    return _render_form_page(request, agent, filters, ReplayForm.build_initial(request.GET.get("version", "")))


@require_POST
@agent_view_for("operator")
def replay_plan(request, agent):
    """Show what a replay would send, before the button that sends it."""
    filters, form = DecisionFilters(request.GET).validate(), ReplayForm(request.POST)
    if not form.is_valid():
        return _render_form_page(request, agent, filters, form, status=422)
    plan = plans.plan_replay(agent, form.build_request(agent, filters))
    return _render_form_page(request, agent, filters, form, plan)


@require_POST
@agent_view_for("operator")
def replay_start(request, agent):
    """Start a replay, and redirect to its page."""
    filters, form = DecisionFilters(request.GET).validate(), ReplayForm(request.POST)
    if not form.is_valid():
        return _render_form_page(request, agent, filters, form, status=422)
    try:
        chosen = form.build_request(agent, filters)
        replay, _queued = replay_launch.start_replay(agent, chosen, by=request.user.username)
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _render_form_page(request, agent, filters, form, status=422)
    return redirect_to(request, replay)


@require_POST
@agent_view_for("operator")
def replay_continue(request, agent, replay_id):
    """Continue a replay with the decisions that wait."""
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    try:
        job = replay_launch.continue_replay(agent, replay, by=request.user.username)
    except Refused as refusal:
        return refuse_post(request, refusal, to=replay)
    return redirect_after_start(request, job, to=replay)


def _render_form_page(request, agent, filters, form, plan=None, status=200):
    context = {
        "agent": agent,
        "filters": filters,
        "form": form,
        "plan": plan,
        "to_plan": reverse("gate:replay_plan", args=[agent.agent_id]) + filters.query,
        "to_start": reverse("gate:replay_start", args=[agent.agent_id]) + filters.query,
    }
    return render_page(request, "gate/replay_new.html", context, status=status)
