"""Our own gate of an agent: its switch, what a run would send, and the latest runs."""

from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view
from agents.runners import switches
from jobs import ticking
from jobs.notices import after_start
from openclaw_web.errors import Refused
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, refuse_post, render_page

from . import plans, running, state
from .forms import RunForm
from .gates import RUNNER


@require_safe
@agent_view
@needs("viewer")
def own_gate(request, agent):
    """Whether new turns are judged, what today has cost, and for operators a plan of the turns that they name."""
    is_asked = "limit" in request.GET and request.user.has_role("operator")
    form = RunForm(request.GET) if is_asked else RunForm()
    return _page(request, agent, form, _plan(agent, form) if is_asked else None)


@require_POST
@agent_view
@needs("operator")
def own_gate_run(request, agent):
    """Queue a run over the turns that were planned; the page of the gate follows it."""
    form = RunForm(request.POST)
    if not form.is_valid():
        return _page(request, agent, form, None)
    try:
        job = running.start(agent, form.asked, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=state.address(agent))
    return after_start(request, job, to=state.address(agent))


@require_POST
@agent_view
@needs("admin")
def own_gate_switch(request, agent):
    """Judge new turns of the agent from now on, or no longer."""
    if request.POST.get("to") == "on":
        switches.turn_on(RUNNER, agent, by=request.user.username)
        return after_post(request, _("New turns of this agent are judged from now on."), to=state.address(agent))
    switches.turn_off(RUNNER, agent, by=request.user.username)
    return after_post(request, _("New turns of this agent are not judged any more."), to=state.address(agent))


def _page(request, agent, form, plan):
    context = {
        "agent": agent,
        "form": form,
        "plan": plan,
        "own": state.of(agent),
        "tasks": ticking.states({RUNNER.enabled}),
    }
    return render_page(request, "gate/own_gate.html", context, status=422 if form.errors else 200)


def _plan(agent, form):
    if not form.is_valid():
        return None
    try:
        return plans.plan(agent, form.asked)
    except Refused as refused:
        form.refuse(refused)
        return None
