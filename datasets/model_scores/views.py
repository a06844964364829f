"""The page on which operators have samples scored by a model."""

from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from agents.runners import forms, pages
from agents.runners.status import RunnerStatus, read_runner_status

from . import scoring
from .config import RUNNER, get_configured_scorer


class ScoreForm(forms.RunForm):
    """The choice of samples to score."""

    limit = forms.limit_field(_("Maximum samples"), _("Newest first."))


@require_safe
@agent_view_for("viewer")
def model_scores(request, agent):
    """Show today's cost and the latest runs, and for operators the plan of a run."""
    form, plan = pages.read_plan_form(request, ScoreForm, lambda choice: scoring.plan_run(agent, choice))
    return _render_model_scores(request, agent, form, plan)


@require_POST
@agent_view_for("operator")
def model_scores_run(request, agent):
    """Queue a run over the samples that were planned; the page follows it."""
    form = ScoreForm(request.POST)
    if not form.is_valid():
        return _render_model_scores(request, agent, form)
    by = request.user.username
    return pages.start_run(request, RUNNER, agent, lambda: scoring.start_run(agent, form.choice, by=by))


def _render_model_scores(request, agent, form, plan=None):
    values = read_runner_status(RUNNER, agent, get_configured_scorer(), RUNNER.problem_of())
    status = RunnerStatus(**values, cost_today=RUNNER.allowance.cost_today(agent.db))
    return pages.render_runner_page(request, RUNNER, "datasets/model_scores.html", agent, status, form, plan)
