"""Rolling back a write, or all writes of a session: what would happen first, then the button."""

from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header, urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view
from agents.models import Agent
from jobs.notices import redirect_after_start
from ledger.models import Session
from ledger.session.evidence import read_evidence, read_messages
from openclaw_web.errors import Refused
from openclaw_web.pages.html import redirect_after_post, refuse_post, render_page
from openclaw_web.pages.roles import needs

from ..handover import handovers
from ..standing import effects
from . import concurrent_edits, rollback_plan, rollback_preview, service, session_plan
from .forms import ChoiceForm, PreviewForm, RollbackForm, SettleForm


@require_safe
@agent_view
@needs("operator")
def rollback(request, agent, audit_id):
    """What rolling back a write, or one hunk of it, would change; nothing is written."""
    asked = _asked(request)
    made = rollback_plan.plan_rollback(agent, audit_id, hunk=asked.number)
    if request.GET.get("file") == "patch":
        return _file(f"{made.name}.patch", rollback_preview.build_preview(agent, made).change.patch.encode())
    if request.GET.get("file") == "content":
        return _file(made.name, made.wanted or b"")
    return _page(request, agent, rollback_preview.build_preview(agent, made), None)


@require_POST
@agent_view
@needs("operator")
def rollback_do(request, agent, audit_id):
    """Roll it back as it was previewed."""
    asked = _asked(request)
    with service.log_refusals(agent, request.user.username, "write", audit_id):
        made = rollback_plan.plan_rollback(agent, audit_id, hunk=asked.number)
    preview = rollback_preview.build_preview(agent, made)
    form = (ChoiceForm if made.conflicts else RollbackForm)(request.POST)
    if not form.is_valid():
        return _page(request, agent, preview, form, status=422)
    chosen = rollback_preview.restore_line_endings(form.cleaned_data["content"], made) if made.conflicts else None
    wish, seen = form.build_request(request.user.username), form.cleaned_data["seen"]
    try:
        result = service.roll_back(agent, audit_id, wish, seen=seen, hunk=asked.number, chosen=chosen)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        now = rollback_preview.build_preview(agent, rollback_plan.plan_rollback(agent, audit_id, hunk=asked.number))
        return _waiting(refused, _page(request, agent, now, form, status=422))
    sentence = _("Rolled back.") if asked.number is None else _("One change was taken back.")
    return redirect_after_post(request, _with(sentence, result.meanwhile), to=_write_address(agent, audit_id))


@require_POST
@agent_view
@needs("operator")
def rollback_hand_over(request, agent, audit_id):
    """Hand it to the agent as it was previewed."""
    asked = _asked(request)
    made = rollback_plan.plan_rollback(agent, audit_id, hunk=asked.number)
    form = (ChoiceForm if made.conflicts else RollbackForm)(request.POST)
    if not form.is_valid():
        return _page(request, agent, rollback_preview.build_preview(agent, made), form, status=422)
    chosen = rollback_preview.restore_line_endings(form.cleaned_data["content"], made) if made.conflicts else None
    about = {"seen": form.cleaned_data["seen"], "puts_back": form.cleaned_data["puts_back"]}
    try:
        wish = form.build_request(request.user.username)
        row = handovers.hand_over_rollback(agent, audit_id, wish, hunk=asked.number, chosen=chosen, **about)
        started = handovers.start(agent, row)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        now = rollback_preview.build_preview(agent, rollback_plan.plan_rollback(agent, audit_id, hunk=asked.number))
        return _page(request, agent, now, form, status=422)
    return redirect_after_start(request, started.job, to=row)


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
    wish = form.build_request(request.user.username)
    try:
        leave_out = request.POST.getlist("leave_out")
        results = service.roll_back_session(agent, session_id, wish, seen=seen, leave_out=leave_out, **asked.span)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _waiting(refused, _session_page(request, agent, session_id, form, status=422))
    count = len(results)
    sentence = ngettext("%(count)s write was rolled back.", "%(count)s writes were rolled back.", count)
    question = concurrent_edits.find_unsettled_write(agent.db) if results[0].meanwhile else None
    to = _write_address(agent, question) if question else _writes_of(agent, session_id)
    return redirect_after_post(request, _with(sentence % {"count": count}, results[0].meanwhile), to=to)


@require_POST
@agent_view
@needs("operator")
def rollback_settle(request, agent, audit_id):
    """What becomes of a version that somebody wrote while this write was rolled back."""
    form, to = SettleForm(request.POST), _write_address(agent, audit_id)
    try:
        if not form.is_valid():
            raise Refused(_("Say what becomes of the version."))
        asked = form.cleaned_data
        seen = None if asked["choice"] == "leave" else asked["seen"]
        about = {"by": request.user.username, "seen": seen, "is_alone": asked["choice"] == "add"}
        about["write_now"] = asked["write_now"]
        concurrent_edits.settle(agent, audit_id, asked["version"], **about)
    except Refused as refused:
        return refuse_post(request, refused, to=to)
    sentence = _("The version was restored.") if seen is not None else _("The version remains in the history.")
    return redirect_after_post(request, sentence, to=to)


def _waiting(refused, response):
    """Say of a refusal that is over in a moment when to come back; the form keeps what was typed."""
    for name, value in refused.headers.items():
        response.status_code, response[name] = refused.status, value
    return response


def _asked(request):
    form = PreviewForm(request.GET)
    if not form.is_valid():
        raise rollback_plan.NotPossible(_("This address asks for a change that the write does not have."))
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
        "to_page": _rollback_address(agent, made.audit.id, made.hunk),
        "to_do": _rollback_address(agent, made.audit.id, made.hunk, is_done=True),
        "to_hand_over": _hand_over_address(agent, made.audit.id, made.hunk),
    }
    return render_page(request, "guardian/rollback.html", context, status=status)


def _session_page(request, agent, session_id, form, status=200):
    asked = _asked(request)
    made = session_plan.plan_session(agent, session_id, **asked.span)
    files = {
        name: (plans, rollback_preview.compare_contents(plans[0].now, plans[-1].wanted, name))
        for name, plans in made.by_file.items()
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
        "problem": rollback_preview.find_problem(agent, made.by_file),
        "effect": effects.forecast_notice(agent, made.contents),
        "form": form or RollbackForm(initial={"keeps_copy": True}),
        "to_do": _session_address(agent, session_id, request.GET),
    }
    return render_page(request, "guardian/session_rollback.html", context, status=status)


def _writes_of(agent, session_id):
    return f"{_session_address(agent)}?{urlencode({'session': f'={session_id}'})}"


def _with(sentence, meanwhile):
    if not meanwhile:
        return sentence
    warning = _("Somebody wrote to the file at the same time: see below.")
    return f"{sentence} {warning}"


def _file(name, data):
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, name)
    return response


def _write_address(agent: Agent, audit_id: str) -> str:
    """The page of a write."""
    return reverse("guardian:audit_detail", args=[agent.agent_id, audit_id])


def _rollback_address(agent: Agent, audit_id: str, hunk: int | None = None, *, is_done: bool = False) -> str:
    """The preview of a rollback, or with `is_done` where it is asked for. `hunk` counts from 0; None: all of them."""
    page = reverse(f"guardian:rollback{'_do' if is_done else ''}", args=[agent.agent_id, audit_id])
    return page if hunk is None else f"{page}?{urlencode({'hunk': hunk + 1})}"


def _hand_over_address(agent: Agent, audit_id: str, hunk: int | None = None) -> str:
    """Where a rollback is handed to the agent."""
    page = reverse("guardian:rollback_hand_over", args=[agent.agent_id, audit_id])
    return page if hunk is None else f"{page}?{urlencode({'hunk': hunk + 1})}"


def _session_address(agent: Agent, session_id: str | None = None, query=None) -> str:
    """Where the rollback of a session is asked for; without one, the list of writes."""
    if session_id is None:
        return reverse("guardian:audit_list", args=[agent.agent_id])
    page = reverse("guardian:session_rollback_do", args=[agent.agent_id, session_id])
    return f"{page}?{query.urlencode()}" if query else page
