"""Pages of our own gate: its switch, plans of runs, and the latest runs."""

from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from agents.runners import pages, switches
from openclaw_web.pages.html import redirect_after_post

from . import job, plans, status
from .config import RUNNER
from .forms import RunForm


@require_safe
@agent_view_for("viewer")
def own_gate(request, agent):
    """Show the switch and today's cost, and for operators the plan of a run."""
    form, plan = pages.read_plan_form(request, RunForm, lambda choice: plans.plan_run(agent, choice))
    return _render_own_gate(request, agent, form, plan)


@require_POST
@agent_view_for("operator")
def own_gate_run(request, agent):
    """Queue a run over the turns that were planned; the page of the gate follows it."""
    form = RunForm(request.POST)
    if not form.is_valid():
        return _render_own_gate(request, agent, form)
    return pages.start_run(request, RUNNER, agent, lambda: job.start_run(agent, form.choice, by=request.user.username))


@require_POST
@agent_view_for("admin")
def own_gate_switch(request, agent):
    """Judge new turns of the agent from now on, or no longer."""
    if request.POST.get("to") == "on":
        switches.turn_on(RUNNER, agent, by=request.user.username)
        return redirect_after_post(
            request, _("New turns of this agent are judged from now on."), to=RUNNER.address(agent)
        )
    switches.turn_off(RUNNER, agent, by=request.user.username)
    return redirect_after_post(request, _("New turns of this agent are not judged any more."), to=RUNNER.address(agent))


def _render_own_gate(request, agent, form, plan=None):
    return pages.render_runner_page(
        request, RUNNER, "gate/own_gate.html", agent, status.read_gate_status(agent), form, plan
    )
