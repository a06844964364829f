"""Everything that stems from a message, the plan that takes it back, and what became of the plan."""

from django import forms
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from guardian.rollbacks.service import LONGEST_REASON
from jobs import services as jobs
from jobs.notices import redirect_after_start
from openclaw_web.errors import Refused
from openclaw_web.pages.html import refuse_post, render_page

from ..models import Remediation, RemediationStep
from . import job
from .plans import find_consequences

MOST_EARLIER = 5
State = RemediationStep.State


class PlanForm(forms.Form):
    """The reason, and the preview that was seen."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Kept with each rollback and verdict."),
    )
    seen = forms.CharField(widget=forms.HiddenInput)


@require_safe
@agent_view_for("operator")
def remediation(request, agent, turn_id):
    """Everything that stems from the message of a turn, and the plan that takes it back."""
    return _render_plan(request, agent, find_consequences(agent, turn_id))


@require_POST
@agent_view_for("operator")
def remediation_start(request, agent, turn_id):
    """Carry out the plan as it was previewed."""
    consequences, form, by = find_consequences(agent, turn_id), PlanForm(request.POST), request.user.username
    if not form.is_valid():
        return _render_plan(request, agent, consequences, form, status=422)
    try:
        row = job.store_plan(agent, consequences, by=by, **form.cleaned_data)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _render_plan(request, agent, consequences, form, status=refused.status)
    return redirect_after_start(request, job.start(row, by=by), to=row)


@require_safe
@agent_view_for("operator")
def remediation_detail(request, agent, remediation_id):
    """Show what became of each step of a plan."""
    row = get_object_or_404(Remediation, id=remediation_id, agent_id=agent.agent_id)
    steps = list(row.steps.order_by("number"))
    done = [step for step in steps if step.state == State.DONE]
    lasting = {step.number: reason for step in done if (reason := job.explain_lasting(step))}
    is_undone = any(step.state == State.UNDONE for step in steps)
    values = {
        "agent": agent,
        "remediation": row,
        "steps": steps,
        "lasting": lasting,
        "can_continue": bool({State.WAITING, State.FAILED} & {step.state for step in steps}) and not is_undone,
        "can_undo": len(done) > len(lasting),
        "job": next(iter(jobs.find_latest([job.JOB_KIND], 1, params_json__contains=row.id)), None),
    }
    return render_page(request, "operations/remediation_detail.html", values)


@require_POST
@agent_view_for("operator")
def remediation_run(request, agent, remediation_id):
    """Go on with the steps that wait or failed, or take back those that are done."""
    row = get_object_or_404(Remediation, id=remediation_id, agent_id=agent.agent_id)
    try:
        started = job.start(row, by=request.user.username, is_undo=bool(request.POST.get("undo")))
    except Refused as refused:
        return refuse_post(request, refused, to=row)
    return redirect_after_start(request, started, to=row)


def _render_plan(request, agent, consequences, form=None, status=200):
    earlier = Remediation.objects.filter(agent_id=agent.agent_id, turn_id=consequences.turn.id)
    values = {
        "agent": agent,
        "consequences": consequences,
        "form": form or PlanForm(),
        "earlier": earlier.order_by("-created_at")[:MOST_EARLIER],
    }
    return render_page(request, "operations/remediation.html", values, status=status)
