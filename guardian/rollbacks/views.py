"""Rolling back a write, or all writes of a session: what would happen first, then the button."""

from django.http import HttpResponse
from django.utils.http import content_disposition_header, urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view
from jobs.notices import after_start
from ledger.models import Session
from ledger.session.evidence import read_evidence, read_messages
from openclaw_web.errors import Refused
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, refuse_post, render_page

from ..handover import service as handovers
from ..standing import effects
from . import performing, planning, settling, shown, together
from .addresses import detail, hand_over_page, rollback_page, session_page
from .forms import ChoiceForm, PreviewForm, RollbackForm, SettleForm


@require_safe
@agent_view
@needs("operator")
def rollback(request, agent, audit_id):
    """What rolling back a write, or one hunk of it, would change; nothing is written."""
    asked = _asked(request)
    made = planning.plan(agent, audit_id, hunk=asked.number)
    if request.GET.get("file") == "patch":
        return _file(f"{made.name}.patch", shown.preview(agent, made).change.patch.encode())
    if request.GET.get("file") == "content":
        return _file(made.name, made.wanted or b"")
    return _page(request, agent, shown.preview(agent, made), None)


@require_POST
@agent_view
@needs("operator")
def rollback_do(request, agent, audit_id):
    """Roll it back as it was previewed."""
    asked = _asked(request)
    with performing.logging_refusals(agent, request.user.username, "write", audit_id):
        made = planning.plan(agent, audit_id, hunk=asked.number)
    preview = shown.preview(agent, made)
    form = (ChoiceForm if made.conflicts else RollbackForm)(request.POST)
    if not form.is_valid():
        return _page(request, agent, preview, form, status=422)
    chosen = shown.edited(form.cleaned_data["content"], made) if made.conflicts else None
    wish, seen = form.wish(request.user.username), form.cleaned_data["seen"]
    try:
        result = performing.perform(agent, audit_id, wish, seen=seen, hunk=asked.number, chosen=chosen)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        now = shown.preview(agent, planning.plan(agent, audit_id, hunk=asked.number))
        return _waiting(refused, _page(request, agent, now, form, status=422))
    sentence = _("Rolled back.") if asked.number is None else _("One change was taken back.")
    return after_post(request, _with(sentence, result.meanwhile), to=detail(agent, audit_id))


@require_POST
@agent_view
@needs("operator")
def rollback_hand_over(request, agent, audit_id):
    """Hand it to the agent as it was previewed."""
    asked = _asked(request)
    made = planning.plan(agent, audit_id, hunk=asked.number)
    form = (ChoiceForm if made.conflicts else RollbackForm)(request.POST)
    if not form.is_valid():
        return _page(request, agent, shown.preview(agent, made), form, status=422)
    chosen = shown.edited(form.cleaned_data["content"], made) if made.conflicts else None
    about = {"seen": form.cleaned_data["seen"], "puts_back": form.cleaned_data["puts_back"]}
    try:
        wish = form.wish(request.user.username)
        row = handovers.hand_over_rollback(agent, audit_id, wish, hunk=asked.number, chosen=chosen, **about)
        started = handovers.start(agent, row)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        now = shown.preview(agent, planning.plan(agent, audit_id, hunk=asked.number))
        return _page(request, agent, now, form, status=422)
    return after_start(request, started.job, to=row)


@require_safe
@agent_view
@needs("operator")
def session_rollback(request, agent, session_id):
    """What rolling back all writes of a session would change."""
    return _session_page(request, agent, session_id, None)


@require_POST
@agent_view
@needs("operator")
def session_rollback_do(request, agent, session_id):
    """Roll them all back, or none."""
    asked, form = _asked(request), RollbackForm(request.POST)
    if not form.is_valid():
        return _session_page(request, agent, session_id, form, status=422)
    seen = {name.removeprefix("seen-"): value for name, value in request.POST.items() if name.startswith("seen-")}
    wish = form.wish(request.user.username)
    try:
        leave_out = request.POST.getlist("leave_out")
        results = performing.perform_session(agent, session_id, wish, seen=seen, leave_out=leave_out, **asked.span)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _waiting(refused, _session_page(request, agent, session_id, form, status=422))
    count = len(results)
    sentence = ngettext("%(count)s write was rolled back.", "%(count)s writes were rolled back.", count)
    question = settling.question(agent.db) if results[0].meanwhile else None
    to = detail(agent, question) if question else _writes_of(agent, session_id)
    return after_post(request, _with(sentence % {"count": count}, results[0].meanwhile), to=to)


@require_POST
@agent_view
@needs("operator")
def rollback_settle(request, agent, audit_id):
    """What becomes of a version that somebody wrote while this write was rolled back."""
    form, to = SettleForm(request.POST), detail(agent, audit_id)
    try:
        if not form.is_valid():
            raise Refused(_("Say what becomes of the version."))
        asked = form.cleaned_data
        seen = None if asked["choice"] == "leave" else asked["seen"]
        about = {"by": request.user.username, "seen": seen, "is_alone": asked["choice"] == "add"}
        about["write_now"] = asked["write_now"]
        settling.settle(agent, audit_id, asked["version"], **about)
    except Refused as refused:
        return refuse_post(request, refused, to=to)
    sentence = _("The version was restored.") if seen is not None else _("The version remains in the history.")
    return after_post(request, sentence, to=to)


def _waiting(refused, response):
    """Say of a refusal that is over in a moment when to come back; the form keeps what was typed."""
    for name, value in refused.headers.items():
        response.status_code, response[name] = refused.status, value
    return response


def _asked(request):
    form = PreviewForm(request.GET)
    if not form.is_valid():
        raise planning.NotPossible(_("This address asks for a change that the write does not have."))
    return form


def _page(request, agent, preview, form, status=200):
    made = preview.plan
    kind = ChoiceForm if made.conflicts else RollbackForm
    form = form or kind(initial={"keeps_copy": True, "content": preview.editable or ""})
    context = {
        "agent": agent,
        "audit": made.audit,
        "evidence": read_evidence(agent.db, made.audit),
        "preview": preview,
        "form": form,
        "to_page": rollback_page(agent, made.audit.id, made.hunk),
        "to_do": rollback_page(agent, made.audit.id, made.hunk, is_done=True),
        "to_hand_over": hand_over_page(agent, made.audit.id, made.hunk),
    }
    return render_page(request, "guardian/rollback.html", context, status=status)


def _session_page(request, agent, session_id, form, status=200):
    asked = _asked(request)
    made = together.plan_session(agent, session_id, **asked.span)
    files = {
        name: (plans, shown.compared(plans[0].now, plans[-1].wanted, name)) for name, plans in made.by_file.items()
    }
    audits = [plan.audit for plans in made.by_file.values() for plan in plans]
    context = {
        "agent": agent,
        "session_id": session_id,
        "evidence": read_messages(agent.db, audits),
        "session": Session.objects.using(agent.db).filter(id=session_id).only("id", "title").first(),
        "files": files,
        "count": sum(len(plans) for plans in made.by_file.values()),
        "made": made,
        "problem": shown.problem(agent, made.by_file),
        "effect": effects.forecast_notice(agent, made.contents),
        "form": form or RollbackForm(initial={"keeps_copy": True}),
        "to_do": session_page(agent, session_id, request.GET),
    }
    return render_page(request, "guardian/session_rollback.html", context, status=status)


def _writes_of(agent, session_id):
    return f"{session_page(agent)}?{urlencode({'session': f'={session_id}'})}"


def _with(sentence, meanwhile):
    if not meanwhile:
        return sentence
    warning = _("Somebody wrote to the file at the same time: see below.")
    return f"{sentence} {warning}"


def _file(name, data):
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, name)
    return response
