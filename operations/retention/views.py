"""What is old: counted first, then archived and removed, or removed for good."""

from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from jobs import automatic_tasks
from jobs import services as jobs
from jobs.models import JobRun
from jobs.notices import redirect_after_start
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs
from people.configuration import setting_values as configuration

from . import services, session_selection
from .forms import RetentionForm

RUNS = 10
SHOWN = {"retentionDays", "jsonlExport.enabled"}  # what runs by itself and is about this


@require_safe
@needs("admin")
def retention(request):
    """The latest counts and removals, a form that asks for another count, and what runs by itself."""
    return render_page(request, "operations/retention.html", _context(_form()))


@require_POST
@needs("admin")
def retention_count(request):
    """Queue counting what is old; the page of that job."""
    return _start(request, "retention", lambda days: {"days": days, "dry_run": True})


@require_POST
@needs("admin")
def retention_remove(request):
    """Queue the removal of what is old; the page of that job."""
    return _start(request, "retention", lambda days: {"days": days})


@require_POST
@needs("admin")
def retention_archive(request):
    """Queue archiving what is old, and its removal; the page of that job."""
    return _start(request, "archive", lambda days: {"before": session_selection.days_ago(days)})


def _start(request, kind, params):
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return render(request, "operations/retention.html", _context(form), status=422)
    asked = {**params(form.cleaned_data["days"]), "by": request.user.username}
    return redirect_after_start(request, jobs.start(kind, asked, by=request.user.username))


def _form():
    return RetentionForm(initial={"days": configuration.get_number(services.SETTING) or 365})


def _context(form):
    runs = jobs.find_latest(services.KINDS, RUNS)
    for run in runs:
        run.what = _what(run)
    newest = runs[0] if runs and runs[0].state == JobRun.State.FINISHED else None
    counted = newest if newest and newest.result.get("dry_run") and newest.result.get("days") else None
    kept = counted.result["kept"] if counted else {}
    return {
        "form": form,
        "runs": runs,
        "counted": counted,
        "kept": [(count, session_selection.REASON_WORDS.get(reason, reason)) for reason, count in kept.items()],
        "days": configuration.get_number(services.SETTING),
        "folder": services.get_archive_folder(),
        "tasks": automatic_tasks.read_tasks(SHOWN),
        "may_change": True,
    }


def _what(run):
    if run.params.get("dry_run"):
        return _("previewed")
    return _("archived and removed") if run.kind == "archive" else _("removed")
