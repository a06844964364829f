"""Views that every runner's page shares: planning a run, and starting it."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse

from jobs import automatic_tasks
from jobs.models import JobRun
from jobs.notices import redirect_after_start
from openclaw_web.errors import Refused
from openclaw_web.llm.estimates import Estimate
from openclaw_web.pages.html import refuse_post, render_page

from ..models import Agent
from .forms import RunForm
from .runner import Runner


def read_plan_form(
    request: Any, form_type: type[RunForm], plan: Callable[[Any], Estimate]
) -> tuple[RunForm, Estimate | None]:
    """Return the form of the page, and the plan that an operator asked for."""
    if "limit" not in request.GET or not request.user.has_role("operator"):
        return form_type(), None
    form = form_type(request.GET)
    if form.is_valid():
        try:
            return form, plan(form.choice)
        except Refused as refusal:
            form.refuse(refusal)
    return form, None


def start_run(request: Any, runner: Runner, agent: Agent, start: Callable[[], JobRun]) -> HttpResponse:
    """Queue a run, and redirect to the runner's page, with the reason when refused."""
    try:
        job = start()
    except Refused as refusal:
        return refuse_post(request, refusal, to=runner.address(agent))
    return redirect_after_start(request, job, to=runner.address(agent))


def render_runner_page(
    request: Any, runner: Runner, template: str, agent: Agent, own: Any, form: RunForm, plan: Estimate | None = None
) -> HttpResponse:
    """Render the page of a runner."""
    tasks = automatic_tasks.read_tasks({runner.enabled})
    context = {"agent": agent, "form": form, "plan": plan, "own": own, "tasks": tasks}
    return render_page(request, template, context, status=422 if form.errors else 200)
