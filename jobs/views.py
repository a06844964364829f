"""Jobs: what runs, what ran, what came of it."""

from dataclasses import replace

import orjson
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from django.views.decorators.http import require_GET, require_POST, require_safe

from openclaw_web.errors import Refused
from openclaw_web.lists.answers import Words, answer_file, answer_page
from openclaw_web.lists.paging import places
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, refuse_post, render_page, stop_polling

from . import kinds as job_kinds
from . import markup as list_markup
from . import services as jobs
from .filters import JobFilters
from .models import JobRun

ALL_JOBS = Words(
    counted=ngettext_lazy("%(shown)s job", "%(shown)s jobs", "count"),
    uncounted=gettext_lazy("Jobs"),
    none=gettext_lazy("No jobs yet"),
    how=gettext_lazy("Collects, exports and other long work are listed here, with progress, log and how they ended."),
    icon="queue-list",
)
OWN_JOBS = replace(
    ALL_JOBS,
    counted=ngettext_lazy("%(shown)s job you started", "%(shown)s jobs you started", "count"),
    uncounted=gettext_lazy("Jobs you started"),
)


@require_safe
@needs("viewer")
def job_list(request):
    """The jobs that fit the filters, the newest first; as a file with `format`."""
    filters = JobFilters(request.GET).checked()
    found = jobs.listing(request.user, filters.terms(), order=filters.order)
    if filters.cleaned_data["format"]:
        fields = list_markup.JOB_FIELDS
        return answer_file(request, filters, found.all.values(*fields), on="jobs", order=found.order, columns=fields)
    page = found.page(**places(request))
    return answer_page(
        request,
        "jobs/job_list.html",
        filters,
        found,
        page,
        on="jobs",
        words=ALL_JOBS if request.user.has_role("operator") else OWN_JOBS,
        columns=list_markup.JOB_COLUMNS,
        rows=list_markup.job_rows(page),
    )


@require_GET
@needs("viewer")
def job_detail(request, job_id):
    job = _job(request, job_id)
    result, kind = orjson.loads(job.result_json or "{}"), job_kinds.find(job.kind)
    context = {
        "job": job,
        "label": job_kinds.label_of(job.kind),
        "made": _address(job, kind),
        "kept": kind.kept if kind else "",
        "may_cancel": request.user.has_role("labeller"),
        "reasons": result.get("reasons", []),
        "result": _in_words(job, kind, result),
        "log": "\n".join(reversed(job.log.splitlines())),
    }
    response = render_page(request, "jobs/job_detail.html", context, partial="job-state")
    return stop_polling(response) if request.htmx and job.has_ended else response


@require_POST
@needs("labeller")
def job_cancel(request, job_id):
    """Ask a job to end before it is done; its page says what becomes of what it did."""
    try:
        job = jobs.cancel(_job(request, job_id), by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=_job(request, job_id))
    return after_post(request, _("Cancelled.") if job.has_ended else _("The job ends at its next step."), to=job)


def _job(request, job_id):
    job = jobs.visible_to(request.user).filter(id=job_id).first()
    if job is None:
        raise Http404
    return job


def _address(job, kind):
    """The address of what a finished job has made."""
    is_there = kind is not None and job.state == JobRun.State.FINISHED
    return kind.address(orjson.loads(job.params_json)) if is_there else None


def _in_words(job, kind, result):
    if job.state != JobRun.State.FINISHED or not result:
        return ""
    return kind.done(result) if kind else job_kinds.as_json(result)
