"""Jobs: what runs, what ran, what came of it."""

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST, require_safe
from django_htmx.http import trigger_client_event

from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.html import redirect_to, refuse_post, render_page, stop_polling
from openclaw_web.pages.roles import needs

from . import kinds as job_kinds
from . import notices
from . import services as jobs
from .job_list import ALL_JOBS, JOBS, OWN_JOBS
from .models import JobRun


@require_safe
@needs("viewer")
@shows(JOBS)
def job_list(request):
    """The jobs that fit the filters, the newest first; as a file with `format`."""
    words = ALL_JOBS if request.user.has_role("operator") else OWN_JOBS
    return render_list(request, "jobs/job_list.html", JOBS, words=words)


@require_GET
@needs("viewer")
def job_detail(request, job_id):
    job = _job(request, job_id)
    kind = job_kinds.find_kind(job.kind)
    context = {
        "job": job,
        "label": job_kinds.get_label(job.kind),
        "made": _address(job, kind),
        "kept": kind.kept if kind else "",
        "may_cancel": request.user.has_role("labeller"),
        "reasons": job.result.get("reasons", []),
        "result": _in_words(job, kind),
        "log": "\n".join(reversed(job.log.splitlines())),
    }
    if request.htmx and job.has_ended:
        notices.mark_seen(request, job)
    response = render_page(request, "jobs/job_detail.html", context, partial="job_state")
    return stop_polling(response) if request.htmx and job.has_ended else response


@require_GET
@needs("viewer")
def job_notice(request, job_id):
    """A job in one line, for a notice that shows it in another state: 204 when it is in the same, 286 when it ended.

    What waits on the page for `job-ended` then asks for itself again.
    """
    job = jobs.visible_to(request.user).filter(id=job_id).defer("log", "result_json").first()
    if not request.htmx:
        return redirect(job or "jobs:job_list")
    if job is None:
        return stop_polling(HttpResponse())
    is_over = job.has_ended or notices.is_old(job)
    if job.state == request.GET.get("state") and not is_over:
        return HttpResponse(status=204)
    response = render(request, "jobs/job_notice.html", {"notice": notices.build_notice(job)})
    if job.has_ended:
        notices.mark_seen(request, job)
        trigger_client_event(response, "job-ended")
    return stop_polling(response) if is_over else response


@require_POST
@needs("labeller")
def job_cancel(request, job_id):
    """Ask a job to end before it is done; its page says what becomes of what it did."""
    try:
        job = jobs.cancel(_job(request, job_id), by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=_job(request, job_id))
    return redirect_to(request, job)  # its page says what becomes of it


def _job(request, job_id):
    job = jobs.visible_to(request.user).filter(id=job_id).first()
    if job is None:
        raise Http404
    return job


def _address(job, kind):
    """The address of what a job has made, or of where a stopped one is started again."""
    is_there = kind is not None and job.state in (JobRun.State.FINISHED, JobRun.State.STOPPED)
    return kind.address(job.params) if is_there else None


def _in_words(job, kind):
    if job.state != JobRun.State.FINISHED or not job.result:
        return ""
    return kind.done(job.result) if kind else job_kinds.as_json(job.result)
