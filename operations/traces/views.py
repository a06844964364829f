"""Exports of whole sessions: the form, the download or job, and the files of a job."""

import shutil
import tempfile
from pathlib import Path

from django import forms
from django.conf import settings
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe
from ulid import ULID

from agents.decorators import agent_view_for
from findings import scan
from jobs.notices import redirect_after_start
from jobs.progress import Progress
from ledger.lists.session_list import SessionFilters
from ledger.models import Session
from openclaw_web.errors import Refused
from openclaw_web.lists.filter_line import LONGEST, spell
from openclaw_web.pages.downloads import FileDownload
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import job as trace_job
from .export import FORMATS, REASONS, RECEIPT, TraceRequest, write_traces

MOST_RECORDS = 500  # of a session that is written while its reader waits


class TraceForm(forms.Form):
    """The format of an export, and for admins what it includes."""

    format = forms.ChoiceField(
        label=gettext_lazy("Format"), choices=[(name, facts.label) for name, facts in FORMATS.items()]
    )
    include_flagged = forms.BooleanField(
        label=gettext_lazy("Include sessions with keys and passwords that nobody has judged, redacted"), required=False
    )
    include_pii = forms.BooleanField(
        label=gettext_lazy("Leave personal data as it is; keys and passwords are redacted"), required=False
    )
    session = forms.CharField(max_length=500, required=False, widget=forms.HiddenInput)
    filter = forms.CharField(max_length=LONGEST, required=False, widget=forms.HiddenInput)
    segment = forms.CharField(max_length=40, required=False, widget=forms.HiddenInput)


@require_safe
@agent_view_for("labeller", of_all=True)
def trace_export(request, agent):
    """The form for the session that the address names, or for the sessions that fit its filters."""
    initial = {"format": request.GET.get("to") or "atif"}
    if session_id := request.GET.get("session"):
        initial["session"] = session_id
    else:
        filters = SessionFilters(request.GET).validate()
        initial |= {"filter": spell(filters), "segment": filters.segment}
    return _render_form(request, agent, TraceForm(initial=initial))


@require_POST
@agent_view_for("labeller", of_all=True)
def trace_create(request, agent):
    """Send the file of a short session; queue a job for anything else, and go to its page."""
    is_admin, by = request.user.has_role("admin"), request.user.username
    form = TraceForm(request.POST)
    if not form.is_valid():
        return _render_form(request, agent, form, status=422)
    chosen = TraceRequest(agent=agent.agent_id if agent else "", **form.cleaned_data)
    try:
        if _is_short(agent, chosen.session):
            return _send_file(chosen, by=by, is_admin=is_admin)
        trace_id, job = trace_job.start(chosen, by=by, is_admin=is_admin)
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _render_form(request, agent, form, status=refused.status)
    return redirect_after_start(request, job, to=reverse("operations:trace_detail", args=[trace_id]))


@require_safe
@needs("labeller")
def trace_detail(request, trace_id):
    """An export of sessions: its job, then what is in its files and what stays out."""
    job, receipt = trace_job.find_job(trace_id), trace_job.read_receipt(trace_id)
    if job is None and not receipt:
        raise Http404
    left_out = [(REASONS[reason], group) for reason, group in receipt.get("left_out", {}).items()]
    values = {"trace_id": trace_id, "job": job, "receipt": receipt, "left_out": left_out}
    return render_page(request, "operations/trace_detail.html", values | {"days": trace_job.LASTING_DAYS})


@require_safe
@needs("labeller")
def trace_file(request, trace_id):
    """Download the files of an export."""
    return trace_job.build_download(trace_id, by=request.user.username, is_admin=request.user.has_role("admin"))


def _is_short(agent, session_id):
    """Whether a session can be written at once: it has few records, and little of its agent was not scanned."""
    if not agent or not session_id:
        return False
    session = Session.objects.using(agent.db).filter(id=session_id).only("record_count").first()
    return bool(session) and session.record_count + scan.count_unscanned(agent.db) <= MOST_RECORDS


def _send_file(chosen, *, by, is_admin):
    """Write the files of a session into a folder that is removed at once, and send the one with the messages."""
    chosen.check(is_admin=is_admin)
    parent = Path(settings.HOME_DIR) / "state"
    folder = Path(tempfile.mkdtemp(prefix="trace-", dir=parent))
    try:
        receipt = write_traces(chosen, folder, Progress())
        paths = [path for path in folder.iterdir() if path.name != RECEIPT]
        if not paths:
            raise Refused(" ".join(str(REASONS[reason]) for reason in receipt["left_out"]))
        trace_job.record_export(chosen, str(ULID()), by=by)
        return FileDownload(paths[0], as_attachment=True, filename=paths[0].name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _render_form(request, agent, form, status=200):
    session_id, session = form["session"].value(), None
    if session_id:
        if agent is None:
            raise Http404
        session = get_object_or_404(Session.objects.using(agent.db).only("id", "title"), id=session_id)
    values = {"agent": agent, "form": form, "session": session, "filter": form["filter"].value()}
    values["is_admin"] = request.user.has_role("admin")
    return render_page(request, "operations/trace_export.html", values, status=status)
