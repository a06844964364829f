"""Pages of corrections and of rules."""

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from ledger.session.evidence import read_evidence
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import redirect_after_post, refuse_post, render_page

from . import correction_store, forms, rule_trial, rules
from .forms import CorrectionForm, OpeningForm, RuleForm

SHOWN = 20


@require_safe
@agent_view_for("viewer")
def corrections(request, agent, audit_id):
    """Show the corrections of a write, and the rule that it goes against.

    They are a part of the write's page, or a page.
    """
    audit = rules.get_write(agent.db, audit_id)
    rule = rules.find_rules(agent.db).filter(id=audit.rule_id).first() if audit.rule_id else None
    rows = correction_store.find_by_write(agent.db, audit.id)
    context = {
        "agent": agent,
        "audit": audit,
        "evidence": None if request.htmx else read_evidence(agent.db, audit),
        "rule": rule,
        "corrections": rows,
        "has_rule": any(row.apply_to_future and row.switched_off_at is None for row in rows),
        "may_correct": request.user.has_role("labeller"),
        "may_roll_back": request.user.has_role("operator"),
    }
    return render_page(request, "guardian/corrections.html", context, partial="corrections")


@require_safe
@agent_view_for("labeller")
def correct(request, agent, audit_id):
    """Show the form of a correction, beside what the write was."""
    audit = rules.get_write(agent.db, audit_id)
    suggestion, opened = forms.suggest_correction(agent.db, audit), OpeningForm(request.GET).initial_fields
    if "status" in opened:  # what is refused is what was written, not what it should have been
        suggestion = forms.Suggestion(correction_store.get_original_state(agent.db, audit), suggestion.reason)
    rule, may_rule = forms.suggest_rule(agent.db, audit), request.user.has_role("operator")
    form = CorrectionForm.from_suggestion(suggestion, rule, may_rule=may_rule, **opened)
    return _render_form(request, agent, audit, form)


@require_POST
@agent_view_for("labeller")
def correct_save(request, agent, audit_id):
    audit = rules.get_write(agent.db, audit_id)
    form = CorrectionForm(request.POST, may_rule=request.user.has_role("operator"))
    if not form.is_valid():
        return _render_form(request, agent, audit, form)
    try:
        may_end_rule = request.user.has_role("operator")
        row = correction_store.correct_write(
            agent, audit.id, by=request.user.username, may_end_rule=may_end_rule, **form.correction_fields
        )
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _render_form(request, agent, audit, form)
    sentence = _("Correction saved. The rule is on.") if row.apply_to_future else _("Correction saved.")
    return redirect_after_post(request, sentence, to=reverse("guardian:corrections", args=[agent.agent_id, audit.id]))


@require_safe
@agent_view_for("viewer")
def rule_list(request, agent):
    """List the rules of an agent, the newest first, with their numbers."""
    page = page_of(rules.find_rules(agent.db), order=rules.NEWEST_FIRST, size=SHOWN, **read_cursors(request))
    context = {"agent": agent, "page": page, "rules": rule_trial.read_rule_counts(agent.db, page, with_facts=True)}
    return render_page(request, "guardian/rule_list.html", context)


@require_safe
@agent_view_for("operator")
def rule_new(request, agent):
    """Show the form of a rule that begins with words.

    The rule is made from one of the facts that they catch.
    """
    return render_page(request, "guardian/rule_new.html", {"agent": agent, "form": RuleForm()})


@require_POST
@agent_view_for("operator")
def rule_try(request, agent):
    """Show what a rule would catch among past facts.

    It is a part of the page of a correction, or a page without scripts.
    """
    form = RuleForm(request.POST)
    context = {"agent": agent, "pattern": "", "trial": None, "problem": "", "chooses": ""}
    try:
        context["pattern"] = form.pattern_to_try if form.is_valid() else ""
        context["trial"] = rule_trial.try_pattern(agent.db, context["pattern"]) if context["pattern"] else None
    except Refused as refused:
        context["problem"] = refused.sentence
    if not form.is_valid():
        context["problem"] = next(iter(form.errors.values()))[0]
    elif request.POST.get("chooses"):  # each fact leads to the form that makes the rule of it
        typed = {name: form.cleaned_data[name] for name in ("contains", "name", "pattern")}
        context["chooses"] = urlencode({"refuse": 1, **typed})
    return render_page(request, "guardian/rule_try.html", context, partial="trial")


@require_POST
@agent_view_for("operator")
def rule_switch(request, agent, rule_id):
    to, is_on = reverse("guardian:rule_list", args=[agent.agent_id]), request.POST.get("to") == "on"
    try:
        correction_store.switch_rule(agent, rule_id, on=is_on, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=to)
    return redirect_after_post(request, _("The rule is on.") if is_on else _("The rule is off."), to=to)


def _render_form(request, agent, audit, form):
    context = {
        "agent": agent,
        "audit": audit,
        "evidence": read_evidence(agent.db, audit),
        "was": correction_store.get_original_state(agent.db, audit),
        "corrections": correction_store.find_by_write(agent.db, audit.id),
        "form": form,
        "is_withheld": rules.is_withheld(agent.db, audit),
    }
    return render_page(request, "guardian/correct.html", context, status=422 if form.errors else 200)
