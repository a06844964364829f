"""The retention page: previews, archiving and removal of old sessions."""

from django import forms
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from jobs import automatic_tasks
from jobs import services as jobs
from jobs.models import JobRun
from jobs.notices import redirect_after_start
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs
from people.configuration import setting_values as configuration

from . import services, session_selection

RUNS = 10
SHOWN = {"retentionDays", "jsonlExport.enabled"}  # the automatic tasks of this page


class RetentionForm(forms.Form):
    days = forms.IntegerField(
        label=gettext_lazy("Inactive for at least (days)"),
        min_value=1,
        max_value=36_500,
        initial=365,
        help_text=gettext_lazy("365 is a year. Anything used by samples or decisions is always kept."),
    )


@require_safe
@needs("admin")
def retention(request):
    """The latest previews and removals, a form for a preview, and the automatic tasks."""
    form = RetentionForm(initial={"days": configuration.get_number(services.DAYS_SETTING) or 365})
    return render_page(request, "operations/retention.html", _build_context(form))


@require_POST
@needs("admin")
def retention_count(request):
    """Queue a preview of old sessions and go to its job."""
    return _start_job(request, "retention", lambda days: {"days": days, "dry_run": True})


@require_POST
@needs("admin")
def retention_remove(request):
    """Queue the removal of old sessions and go to its job."""
    return _start_job(request, "retention", lambda days: {"days": days})


@require_POST
@needs("admin")
def retention_archive(request):
    """Queue archiving and removing old sessions and go to the job."""
    return _start_job(request, "archive", lambda days: {"before": session_selection.days_ago(days)})


def _start_job(request, kind, params):
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return render(request, "operations/retention.html", _build_context(form), status=422)
    job_params = {**params(form.cleaned_data["days"]), "by": request.user.username}
    return redirect_after_start(request, jobs.start(kind, job_params, by=request.user.username))


def _build_context(form):
    runs = jobs.find_latest(services.JOB_KINDS, RUNS)
    for run in runs:
        run.what = _describe_action(run)
    newest = runs[0] if runs and runs[0].state == JobRun.State.FINISHED else None
    counted = newest if newest and newest.result.get("dry_run") and newest.result.get("days") else None
    kept_counts = counted.result["kept"] if counted else {}
    return {
        "form": form,
        "runs": runs,
        "counted": counted,
        "kept_counts": [
            (count, session_selection.REASON_WORDS.get(reason, reason)) for reason, count in kept_counts.items()
        ],
        "days": configuration.get_number(services.DAYS_SETTING),
        "folder": services.get_archive_folder(),
        "tasks": automatic_tasks.read_tasks(SHOWN),
        "may_change": True,
    }


def _describe_action(run):
    if run.params.get("dry_run"):
        return _("previewed")
    return _("archived and removed") if run.kind == "archive" else _("removed")
