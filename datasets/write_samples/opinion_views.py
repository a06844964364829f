"""The form for a wrong write: verdict, correction, rollback, rule and sample at once."""

from dataclasses import replace

from django.contrib import messages
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from guardian.corrections import correction_store, forms, rules
from guardian.corrections.forms import OpeningForm
from guardian.models import WriteGuardianAudit
from guardian.rollbacks import rollback_plan, rollback_preview
from jobs.notices import redirect_after_start
from ledger.session.evidence import read_evidence
from openclaw_web.errors import Refused
from openclaw_web.pages.html import redirect_to, render_page
from openclaw_web.sentences import join_sentences

from ..kinds import verdict_service
from ..kinds.write import WRITE, find_samples
from . import opinions
from .opinion_forms import OpinionForm, OpinionKind, list_ways
from .opinions import LEAVE, OTHER, WAYS


@require_safe
@agent_view_for("labeller")
def write_opinion(request, agent, audit_id):
    """The form for a wrong write; it stores nothing."""
    audit, kind = WRITE.find(agent, audit_id), OpinionKind(request.GET).kind
    return _render_opinion(request, agent, audit, kind)


@require_POST
@agent_view_for("labeller")
def write_opinion_save(request, agent, audit_id):
    """Store the opinion, then carry out its rollback."""
    audit, kind = WRITE.find(agent, audit_id), OpinionKind(request.POST).kind
    preview, problem = _read_preview(request, agent, audit)
    no_sample = verdict_service.find_problem(WRITE, agent, audit)
    form = _build_form(request, agent, audit, kind, preview, no_sample, data=request.POST)
    if not form.is_valid():
        return _render_opinion(request, agent, audit, kind, form=form, preview_result=(preview, problem))
    try:
        opinion = replace(form.opinion, may_end_rule=request.user.has_role("operator"))
        result = opinions.give_opinion(agent, audit.id, opinion, by=request.user.username)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _render_opinion(request, agent, audit, kind, form=form)
    # Short sentences about the stored opinion and its rollback.
    row, sentences = result.correction, [_("Saved.")]
    if row and row.corrected_status == WriteGuardianAudit.Status.REFUSED:
        sentences = [_("Saved: should not be there.")]
    elif row:
        sentences = [_("Saved: should say something else.")]
    if result.problem:
        sentences.append(result.problem)
    if row and row.apply_to_future and not row.switched_off_at:
        sentences.append(_("The rule is on."))
    if result.rollback:
        sentences.append(_("Rolled back."))
    if result.meanwhile:
        sentences.append(_("Somebody wrote to the file at the same time: see below."))
    sentence = join_sentences(sentences)
    if result.failure:
        sentence = _("%(saved)s The rollback was not done: %(why)s") % {"saved": sentence, "why": result.failure}
        messages.warning(request, sentence)
    else:
        messages.success(request, sentence)
    if result.handover:
        return redirect_after_start(request, result.handover.job, to=result.handover.handover)
    return redirect_to(request, audit)


def _read_preview(request, agent, audit):
    """The preview of the rollback, and why there is none; for operators only."""
    if not request.user.has_role("operator"):
        return None, ""
    try:
        return rollback_preview.build_preview(agent, rollback_plan.plan_rollback(agent, audit.id)), ""
    except Refused as refused:
        return None, refused.sentence


def _build_form(request, agent, audit, kind, preview, no_sample, data=None):
    has_sample = bool(no_sample or find_samples(agent, [audit.id]))
    may_rule = request.user.has_role("operator")
    options = {"kind": kind, "may_rule": may_rule, "has_sample": has_sample}
    if data is not None:  # the sent way was possible a moment ago: applying it says why it no longer is
        return OpinionForm(data, ways=list(WAYS) if may_rule and "way" in data else [LEAVE], **options)
    suggestion, original = (
        forms.suggest_correction(agent.db, audit),
        correction_store.get_original_state(agent.db, audit),
    )
    ways = list_ways(preview)
    standing = suggestion.state if kind == OTHER and suggestion.state.status == original.status else original
    initial = OpinionForm.build_initial(standing, preview, ways) | {"reason": suggestion.reason}
    initial |= forms.suggest_rule(agent.db, audit) if may_rule else {}
    return OpinionForm(initial=initial | OpeningForm(request.GET).initial_fields, ways=ways, **options)


def _render_opinion(request, agent, audit, kind, *, form=None, preview_result=None):
    preview, problem = preview_result or _read_preview(request, agent, audit)
    if form and "way" in form.fields:
        form.offer_ways(list_ways(preview))
    no_sample = verdict_service.find_problem(WRITE, agent, audit)
    context = {
        "agent": agent,
        "audit": audit,
        "kind": kind,
        "was": correction_store.get_original_state(agent.db, audit),
        "preview": preview,
        "problem": problem,
        "form": form or _build_form(request, agent, audit, kind, preview, no_sample),
        "is_withheld": rules.is_withheld(agent.db, audit),
        "evidence": read_evidence(agent.db, audit),
        "no_sample": no_sample,
    }
    return render_page(request, "datasets/write_opinion.html", context, status=422 if form and form.errors else 200)
