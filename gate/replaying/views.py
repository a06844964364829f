"""Replays of an agent's decisions: the list, one of them, and how a new one begins."""

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view
from jobs.notices import after_start
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, places
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import go, refuse_post, render_page

from .. import judgments
from ..lists.decision_list import DecisionFilters
from ..models import GatePrompt, GateReplay
from . import pairs, plans, results, shown, starting, words
from .forms import ReplayForm


@require_safe
@agent_view
@needs("viewer")
def replay_list(request, agent):
    """The replays of an agent, the newest first."""
    page = shown.page(agent, **places(request))
    context = {"agent": agent, "page": page, "rows": shown.standing(page)}
    return render_page(request, "gate/replay_list.html", context)


@require_safe
@agent_view
@needs("viewer")
def replay_detail(request, agent, replay_id):
    """What came of a replay, and the decisions that became others; while it runs, how far it is."""
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    judgments.refresh(agent)
    result = results.of(agent.db, replay)
    counts = pairs.counts(agent.db, replay, result)
    chosen = pairs.PairsForm(request.GET).chosen(counts)
    rows = page_of(pairs.rows_of(agent.db, replay.id, chosen), order=("number",), **places(request))
    context = {
        "agent": agent,
        "replay": replay,
        "standing": shown.standing([replay])[0],
        "chosen": words.chosen(replay.chosen),
        "result": result,
        "pairs": chosen,
        "kinds": [(kind, label, counts[kind]) for kind, label in pairs.LABELS.items()],
        "page": rows,
        "rows": results.with_originals(agent.db, rows),
        "is_prompt_kept": GatePrompt.objects.using(agent.db).filter(id=replay.prompt_version).exists(),
    }
    return render_page(request, "gate/replay_detail.html", context, partial="replay_state")


@require_safe
@agent_view
@needs("operator")
def replay_new(request, agent):
    """Who is to decide again about the decisions that fit the filters in the address."""
    return _form_page(request, agent, DecisionFilters(request.GET).checked(), ReplayForm.about())


@require_POST
@agent_view
@needs("operator")
def replay_plan(request, agent):
    """What a replay would send, before the button that sends it."""
    filters, form = DecisionFilters(request.GET).checked(), ReplayForm(request.POST)
    if not form.is_valid():
        return _form_page(request, agent, filters, form, status=422)
    return _form_page(request, agent, filters, form, plans.plan(agent, form.wanted(filters)))


@require_POST
@agent_view
@needs("operator")
def replay_start(request, agent):
    """Start a replay; its page follows it."""
    filters, form = DecisionFilters(request.GET).checked(), ReplayForm(request.POST)
    if not form.is_valid():
        return _form_page(request, agent, filters, form, status=422)
    try:
        replay, _job = starting.start(agent, form.wanted(filters), by=request.user.username)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _form_page(request, agent, filters, form, status=422)
    return go(request, replay)


@require_POST
@agent_view
@needs("operator")
def replay_continue(request, agent, replay_id):
    """Go on with the decisions of a replay that wait."""
    replay = get_object_or_404(GateReplay.objects.using(agent.db), id=replay_id)
    try:
        job = starting.go_on(agent, replay, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=replay)
    return after_start(request, job, to=replay)


def _form_page(request, agent, filters, form, plan=None, status=200):
    context = {
        "agent": agent,
        "filters": filters,
        "form": form,
        "plan": plan,
        "to_plan": reverse("gate:replay_plan", args=[agent.agent_id]) + filters.query,
        "to_start": reverse("gate:replay_start", args=[agent.agent_id]) + filters.query,
    }
    return render_page(request, "gate/replay_new.html", context, status=status)
