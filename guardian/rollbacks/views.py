"""Pages of rollbacks of a write, or of all writes of a session."""

from django import forms
from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header, urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from agents.models import Agent
from jobs.notices import redirect_after_start
from ledger.models import Session
from ledger.session.evidence import read_evidence, read_messages
from openclaw_web.errors import Refused
from openclaw_web.pages.html import read_form, redirect_after_post, refuse_post, render_page

from ..handover import handovers
from ..standing import effects
from . import concurrent_edits, rollback_plan, rollback_preview, service
from .rollback_preview import MOST_EDITED
from .service import LONGEST_REASON, RollbackRequest

MOST_HUNKS = 1_000_000


class PreviewForm(forms.Form):
    """The part of a write, or the time span of a session, that an address names."""

    hunk = forms.IntegerField(required=False, min_value=1, max_value=MOST_HUNKS)
    since = forms.IntegerField(required=False, min_value=0)
    until = forms.IntegerField(required=False, min_value=0)

    @property
    def number(self) -> int | None:
        """The number of the hunk, counted from 0; None: all of the write."""
        number = self.cleaned_data["hunk"]
        return None if number is None else number - 1

    @property
    def span(self) -> dict[str, int | None]:
        """From when on and until when, in milliseconds."""
        return {name: self.cleaned_data[name] for name in ("since", "until")}


class RollbackForm(forms.Form):
    """The reason for a rollback, and the preview that was seen.

    `ChoiceForm` also has the content that a person chooses.
    """

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Kept with the rollback; reviewers see it."),
    )
    keeps_copy = forms.BooleanField(label=gettext_lazy("Keep a backup copy of the file"), required=False, initial=True)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    write_now = forms.BooleanField(required=False, widget=forms.HiddenInput)  # of the button that says so
    puts_back = forms.BooleanField(
        label=gettext_lazy("Put back first what OpenClaw's record names"), required=False, widget=forms.HiddenInput
    )

    def build_request(self, by: str) -> RollbackRequest:
        data = self.cleaned_data
        return RollbackRequest(by, data["reason"], keeps_copy=data["keeps_copy"], accepts_effect=data["write_now"])


class ChoiceForm(RollbackForm):
    """The form for a write whose lines were changed since: also what the file should hold."""

    content = forms.CharField(
        label=gettext_lazy("The file should hold"),
        help_text=gettext_lazy("Starts as the file is now. Edit the lines shown above, then save."),
        required=False,  # it may be empty
        strip=False,
        max_length=2 * MOST_EDITED,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "mono"}),
    )
    field_order = ("content", "reason", "keeps_copy", "seen")


class SettleForm(forms.Form):
    """The choice for a version that somebody wrote while a rollback was carried out."""

    version = forms.CharField(max_length=1_000)
    choice = forms.ChoiceField(choices=[("add", "add"), ("put", "put"), ("leave", "leave")])
    seen = forms.CharField(required=False)
    write_now = forms.BooleanField(required=False)


@require_safe
@agent_view_for("operator")
def rollback(request, agent, audit_id):
    """Show what rolling back a write, or one hunk of it, would change."""
    preview_form = _read_preview_form(request)
    plan = rollback_plan.plan_rollback(agent, audit_id, hunk=preview_form.number)
    if request.GET.get("file") == "patch":
        return _build_download(f"{plan.name}.patch", rollback_preview.build_preview(agent, plan).change.patch.encode())
    if request.GET.get("file") == "content":
        return _build_download(plan.name, plan.new_content or b"")
    return _render_preview(request, agent, rollback_preview.build_preview(agent, plan), None)


@require_POST
@agent_view_for("operator")
def rollback_do(request, agent, audit_id):
    """Roll it back as it was previewed."""

    def roll_back(form, rollback_request, hunk, **options):
        result = service.roll_back(agent, audit_id, rollback_request, hunk=hunk, **options)
        sentence = _("Rolled back.") if hunk is None else _("One change was taken back.")
        address = _write_address(agent, audit_id)
        return redirect_after_post(request, _add_warning(sentence, result.meanwhile), to=address)

    return _act(request, agent, audit_id, roll_back)


@require_POST
@agent_view_for("operator")
def rollback_hand_over(request, agent, audit_id):
    def hand_over(form, rollback_request, **options):
        options["puts_back"] = form.cleaned_data["puts_back"]
        row = handovers.hand_over_rollback(agent, audit_id, rollback_request, **options)
        return redirect_after_start(request, handovers.start(agent, row).job, to=row)

    return _act(request, agent, audit_id, hand_over)


def _act(request, agent, audit_id, act):
    """Check the form, and answer with what `act` returns, or with the page and why it refused."""
    hunk = _read_preview_form(request).number
    with service.log_refusals(agent, request.user.username, "write", audit_id):
        plan = rollback_plan.plan_rollback(agent, audit_id, hunk=hunk)
    form = (ChoiceForm if plan.conflicts else RollbackForm)(request.POST)
    if not form.is_valid():
        return _render_preview(request, agent, rollback_preview.build_preview(agent, plan), form, status=422)
    chosen = rollback_preview.restore_line_endings(form.cleaned_data["content"], plan) if plan.conflicts else None
    rollback_request = form.build_request(request.user.username)
    try:
        return act(form, rollback_request, hunk=hunk, seen=form.cleaned_data["seen"], chosen=chosen)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        new_plan = rollback_plan.plan_rollback(agent, audit_id, hunk=hunk)
        preview = rollback_preview.build_preview(agent, new_plan)
        return _add_retry_headers(refused, _render_preview(request, agent, preview, form, status=422))


@require_safe
@agent_view_for("operator")
def session_rollback(request, agent, session_id):
    """Show what rolling back all writes of a session would change."""
    return _render_session(request, agent, session_id, None)


@require_POST
@agent_view_for("operator")
def session_rollback_do(request, agent, session_id):
    """Roll them all back, or none."""
    preview_form, form = _read_preview_form(request), RollbackForm(request.POST)
    if not form.is_valid():
        return _render_session(request, agent, session_id, form, status=422)
    seen = {name.removeprefix("seen-"): value for name, value in request.POST.items() if name.startswith("seen-")}
    rollback_request = form.build_request(request.user.username)
    try:
        leave_out = request.POST.getlist("leave_out")
        results = service.roll_back_session(
            agent, session_id, rollback_request, seen=seen, leave_out=leave_out, **preview_form.span
        )
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _add_retry_headers(refused, _render_session(request, agent, session_id, form, status=422))
    count = len(results)
    sentence = ngettext("%(count)s write was rolled back.", "%(count)s writes were rolled back.", count)
    unsettled_id = concurrent_edits.find_unsettled_write(agent.db) if results[0].meanwhile else None
    to = (
        _write_address(agent, unsettled_id)
        if unsettled_id
        else f"{_session_address(agent)}?{urlencode({'session': f'={session_id}'})}"
    )
    return redirect_after_post(request, _add_warning(sentence % {"count": count}, results[0].meanwhile), to=to)


@require_POST
@agent_view_for("operator")
def rollback_settle(request, agent, audit_id):
    """Settle a version that somebody wrote while this write was rolled back."""
    to = _write_address(agent, audit_id)
    try:
        data = read_form(SettleForm(request.POST), _("Say what becomes of the version."))
        seen = None if data["choice"] == "leave" else data["seen"]
        options = {"by": request.user.username, "seen": seen, "is_alone": data["choice"] == "add"}
        options["write_now"] = data["write_now"]
        concurrent_edits.settle(agent, audit_id, data["version"], **options)
    except Refused as refused:
        return refuse_post(request, refused, to=to)
    sentence = _("The version was restored.") if seen is not None else _("The version remains in the history.")
    return redirect_after_post(request, sentence, to=to)


def _add_retry_headers(refused, response):
    """Say when to come back after a refusal that is over in a moment.

    The form keeps what was typed.
    """
    for name, value in refused.headers.items():
        response.status_code, response[name] = refused.status, value
    return response


def _read_preview_form(request):
    form = PreviewForm(request.GET)
    if not form.is_valid():
        raise rollback_plan.NotPossible(_("This address asks for a change that the write does not have."))
    return form


def _render_preview(request, agent, preview, form, status=200):
    plan = preview.plan
    kind = ChoiceForm if plan.conflicts else RollbackForm
    form = form or kind(initial={"keeps_copy": True, "content": preview.editable or ""})
    page = reverse("guardian:rollback_hand_over", args=[agent.agent_id, plan.audit.id])
    context = {
        "agent": agent,
        "audit": plan.audit,
        "evidence": read_evidence(agent.db, plan.audit),
        "preview": preview,
        "form": form,
        "to_page": _rollback_address(agent, plan.audit.id, plan.hunk),
        "to_do": _rollback_address(agent, plan.audit.id, plan.hunk, is_done=True),
        "to_hand_over": (page if plan.hunk is None else f"{page}?{urlencode({'hunk': plan.hunk + 1})}"),
    }
    return render_page(request, "guardian/rollback.html", context, status=status)


def _render_session(request, agent, session_id, form, status=200):
    preview_form = _read_preview_form(request)
    preview = rollback_plan.plan_session(agent, session_id, **preview_form.span)
    files = {
        name: (plans, rollback_preview.compare_contents(plans[0].now, plans[-1].new_content, name))
        for name, plans in preview.by_file.items()
    }
    audits = [plan.audit for plans in preview.by_file.values() for plan in plans]
    context = {
        "agent": agent,
        "session_id": session_id,
        "evidence": read_messages(agent.db, audits),
        "session": Session.objects.using(agent.db).filter(id=session_id).only("id", "title").first(),
        "files": files,
        "count": sum(len(plans) for plans in preview.by_file.values()),
        "preview": preview,
        "problem": rollback_preview.find_problem(agent, preview.by_file),
        "effect": effects.forecast_notice(agent, preview.contents),
        "form": form or RollbackForm(initial={"keeps_copy": True}),
        "to_do": _session_address(agent, session_id, request.GET),
    }
    return render_page(request, "guardian/session_rollback.html", context, status=status)


def _add_warning(sentence, meanwhile):
    if not meanwhile:
        return sentence
    warning = _("Somebody wrote to the file at the same time: see below.")
    return f"{sentence} {warning}"


def _build_download(name, data):
    headers = {"Content-Disposition": content_disposition_header(True, name)}
    return HttpResponse(data, content_type="application/octet-stream", headers=headers)


def _write_address(agent: Agent, audit_id: str) -> str:
    return reverse("guardian:audit_detail", args=[agent.agent_id, audit_id])


def _rollback_address(agent: Agent, audit_id: str, hunk: int | None = None, *, is_done: bool = False) -> str:
    """Return the address of a rollback's preview, or with `is_done` of the rollback itself.

    `hunk` counts from 0; None means the whole write.
    """
    page = reverse(f"guardian:rollback{'_do' if is_done else ''}", args=[agent.agent_id, audit_id])
    return page if hunk is None else f"{page}?{urlencode({'hunk': hunk + 1})}"


def _session_address(agent: Agent, session_id: str | None = None, query=None) -> str:
    """Return the address of a session's rollback; without a session, of the list of writes."""
    if session_id is None:
        return reverse("guardian:audit_list", args=[agent.agent_id])
    page = reverse("guardian:session_rollback_do", args=[agent.agent_id, session_id])
    return f"{page}?{query.urlencode()}" if query else page
