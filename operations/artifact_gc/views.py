"""The page of the artifact store: previews and removals of unused artifacts."""

from django import forms
from django.core.exceptions import ValidationError
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from jobs import services as jobs
from jobs.models import JobRun
from jobs.notices import redirect_after_start
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import services as artifact_gc

RUNS = 10


class AgeField(forms.CharField):
    """An age such as 30d, in seconds."""

    def clean(self, value):
        try:
            return artifact_gc.parse_age(super().clean(value) or "0s")
        except artifact_gc.WrongAge as wrong:
            raise ValidationError(wrong.sentence) from wrong


class ClearingForm(forms.Form):
    older_than = AgeField(
        label=gettext_lazy("Minimum age"),
        required=False,
        max_length=12,
        initial="30d",
        help_text=gettext_lazy("For example 90s, 30m, 12h, 7d or 2w. Empty = any age."),
    )
    is_dry_run = forms.BooleanField(required=False)


@require_safe
@needs("admin")
def artifact_store(request):
    """The latest removals and previews, and a form for another one."""
    return render_page(request, "operations/artifact_store.html", _build_context(ClearingForm()))


@require_POST
@needs("admin")
def artifact_store_clear(request):
    """Queue a removal or a preview and go to its job."""
    form = ClearingForm(request.POST)
    if not form.is_valid():
        return render(request, "operations/artifact_store.html", _build_context(form), status=422)
    options = form.cleaned_data
    job = artifact_gc.start_job(
        older_than=options["older_than"], is_dry_run=options["is_dry_run"], by=request.user.username
    )
    return redirect_after_start(request, job)


def _build_context(form):
    runs = jobs.find_latest([artifact_gc.JOB_KIND], RUNS)
    for run in runs:
        run.what = _("previewed") if run.params.get("is_dry_run") else _("removed")
    newest = runs[0] if runs and runs[0].state == JobRun.State.FINISHED else None
    is_counted = newest and newest.params.get("is_dry_run") and newest.result.get("removed")
    return {"form": form, "runs": runs, "counted": newest if is_counted else None}
