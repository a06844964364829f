"""Pages of the built-in guardian: status, runs, proposals and retries of writes."""

from collections.abc import Callable
from functools import wraps

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents.decorators import agent_view_for
from agents.runners import forms as runners
from agents.runners import pages, switches
from jobs.notices import redirect_after_start
from ledger.session.evidence import read_evidence
from openclaw_web.diffs import line_diff
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.html import redirect_after_post, refuse_post, render_page

from ..corrections.rules import get_write
from ..detail.page import read_origin
from ..files import LONGEST_FACT, MEMORY_FILES
from ..handover import handovers
from ..models import GuardianStep
from . import fact_handler, job, plans, proposal_page, proposals, unattended_writes
from .fact_selection import FactChoice
from .llm.config import RUNNER


class RunForm(runners.RunForm):
    """Which facts to handle."""

    choice_type = FactChoice

    limit = runners.limit_field(gettext_lazy("Maximum facts"), gettext_lazy("The newest facts come first."))


class RetryForm(forms.Form):
    """The fact and the file with which a write is proposed again."""

    fact = forms.CharField(
        label=gettext_lazy("Fact"), max_length=LONGEST_FACT, widget=forms.Textarea(attrs={"rows": 3})
    )
    file = forms.ChoiceField(label=gettext_lazy("File"), choices=[(name, name) for name in MEMORY_FILES])

    def clean_fact(self):
        """Return the fact with newlines as in other facts: browsers send two characters."""
        return self.cleaned_data["fact"].replace("\r\n", "\n")


class DeclineForm(forms.Form):
    """The reason for declining a proposal."""

    reason = forms.CharField(
        label=gettext_lazy("Reason for declining"),
        max_length=proposals.LONGEST_REASON,
        error_messages={"required": proposals.NO_REASON},
    )


def says_why_not(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Send a refused action on a proposal back to the proposal's page.

    A proposal that does not exist has no page: the answer is 404.
    """

    @wraps(view)
    def answer(request, agent, run_id):
        try:
            return view(request, agent, run_id)
        except proposals.NoSuchProposal as refused:
            raise Http404 from refused
        except Refused as refused:
            return refuse_post(request, refused, to=_proposal_address(agent, run_id))

    return answer


@require_safe
@agent_view_for("viewer")
def own_guardian(request, agent):
    """Show which files are written unattended, the cost of today, and a plan.

    The plan is of the facts that an operator names; others see none.
    """
    form, plan = pages.read_plan_form(request, RunForm, lambda choice: plans.plan_run(agent, choice))
    return _render_status(request, agent, form, plan)


@require_POST
@agent_view_for("operator")
def own_guardian_run(request, agent):
    """Queue a run over the facts that were planned."""
    form = RunForm(request.POST)
    if not form.is_valid():
        return _render_status(request, agent, form)
    return pages.start_run(request, RUNNER, agent, lambda: job.start_run(agent, form.choice, by=request.user.username))


@require_POST
@agent_view_for("admin")
def own_guardian_switch(request, agent):
    """Turn unattended writing of a file on or off."""
    name = request.POST.get("file", "")
    if request.POST.get("to") == "on":
        try:
            unattended_writes.turn_on(agent, name, by=request.user.username)
        except Refused as refused:
            return refuse_post(request, refused, to=RUNNER.address(agent))
        return redirect_after_post(request, plans.build_switch_sentence(agent, name), to=RUNNER.address(agent))
    switches.turn_off(RUNNER, agent, name, by=request.user.username)
    sentence = _("Nothing is written to %(file)s unattended any more.") % {"file": name}
    return redirect_after_post(request, sentence, to=RUNNER.address(agent))


@require_safe
@agent_view_for("operator")
def proposal_list(request, agent):
    """List the proposals that wait, or with `all` every fact that was handled."""
    is_waiting = "all" not in request.GET
    page = proposal_page.read_proposal_page(agent, is_waiting=is_waiting, **read_cursors(request))
    return render_page(request, "guardian/proposal_list.html", {"agent": agent, "page": page, "is_waiting": is_waiting})


@require_safe
@agent_view_for("operator")
def proposal_detail(request, agent, run_id):
    """Show one proposal, its change of the current file, and the model's steps."""
    return _render_proposal(request, agent, run_id, DeclineForm())


@require_POST
@agent_view_for("operator")
@says_why_not
def proposal_approve(request, agent, run_id):
    """Write a proposal as it was shown.

    With `applied` only store that somebody applied it by hand.
    """
    address = _proposal_address(agent, run_id)
    if request.POST.get("applied"):
        proposals.confirm_applied(agent, run_id, by=request.user.username)
        return redirect_after_post(request, _("The proposal is closed: the patch was applied by hand."), to=address)
    options = {"seen": request.POST.get("seen", ""), "accepts_effect": request.POST.get("write_now") == "1"}
    result = proposals.approve(agent, run_id, by=request.user.username, **options)
    if not result.is_written:
        sentence = _("Nothing was written: the file holds it already.")
    elif result.meanwhile:
        sentence = _("Written. Somebody else wrote to the file at that moment: that version is kept.")
    else:
        sentence = _("The proposal was written.")
    return redirect_after_post(request, sentence, to=address)


@require_POST
@agent_view_for("operator")
@says_why_not
def proposal_hand_over(request, agent, run_id):
    options = {"seen": request.POST.get("seen", ""), "puts_back": request.POST.get("puts_back") == "1"}
    row = handovers.hand_over_proposal(agent, run_id, by=request.user.username, **options)
    started = handovers.start(agent, row)
    return redirect_after_start(request, started.job, to=row)


@require_POST
@agent_view_for("operator")
@says_why_not
def proposal_decline(request, agent, run_id):
    """Leave a proposal unwritten."""
    address, form = _proposal_address(agent, run_id), DeclineForm(request.POST)
    if not form.is_valid():
        return _render_proposal(request, agent, run_id, form)
    proposals.decline(agent, run_id, by=request.user.username, reason=form.cleaned_data["reason"])
    return redirect_after_post(request, _("The proposal was declined."), to=address)


@require_safe
@agent_view_for("operator")
def proposal_patch(request, agent, run_id):
    """Download the change of a proposal as a patch."""
    proposal = proposal_page.build_proposal_context(agent, _find_or_404(agent, run_id))
    if not proposal.has_change:
        raise Http404
    response = HttpResponse(proposal.patch, content_type="text/x-patch; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{proposal.run.target_file}.patch"'
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@agent_view_for("operator")
def write_retry(request, agent, audit_id):
    """Have a write proposed again, with another fact or file."""
    audit = get_write(agent.db, audit_id)
    initial = {"fact": audit.candidate_fact, "file": audit.target_file}
    form = RetryForm(request.POST) if request.method == "POST" else RetryForm(initial=initial)
    if form.is_valid():
        try:
            run = fact_handler.build_retry(agent, audit_id, **form.cleaned_data, by=request.user.username)
            started = job.start_retry(agent, run, by=request.user.username)
        except Refused as refused:
            form.add_error(None, refused.sentence)
        else:
            return redirect_after_start(request, started, to=_proposal_address(agent, run.id))
    context = {"agent": agent, "audit": audit, "form": form, "own": plans.read_guardian_status(agent)}
    context["evidence"] = read_evidence(agent.db, audit)
    return render_page(request, "guardian/write_retry.html", context, status=422 if form.errors else 200)


def _find_or_404(agent, run_id):
    try:
        return proposals.find(agent.db, run_id)
    except proposals.NoSuchProposal as refused:
        raise Http404 from refused


def _render_proposal(request, agent, run_id, form):
    proposal = proposal_page.build_proposal_context(agent, _find_or_404(agent, run_id))
    diff = line_diff.compare(*proposal.texts) if proposal.has_change else None
    evidence = read_evidence(agent.db, proposal.run)
    context = {
        "agent": agent,
        "proposal": proposal,
        "run": proposal.run,
        "evidence": evidence,
        "form": form,
        "diff": diff,
        "view": line_diff.build_view(diff) if diff else None,
        "handovers": handovers.find_by_proposal(agent.db, run_id),
        "steps": GuardianStep.objects.using(agent.db).filter(run=proposal.run).order_by("created_at", "id"),
        **read_origin(agent, proposal.run, evidence),
    }
    plans = 422 if form.errors else 200
    return render_page(request, "guardian/proposal_detail.html", context, partial="proposal", status=plans)


def _proposal_address(agent, run_id):
    return reverse("guardian:proposal_detail", args=[agent.agent_id, run_id])


def _render_status(request, agent, form, plan=None):
    return pages.render_runner_page(
        request, RUNNER, "guardian/own_guardian.html", agent, plans.read_guardian_status(agent), form, plan
    )
