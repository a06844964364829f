"""Pages of jobs: the list, one job, its notice, and its cancellation."""

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
    """Show the jobs that fit the filters, newest first; as a file with `format`."""
    words = ALL_JOBS if request.user.has_role("operator") else OWN_JOBS
    return render_list(request, "jobs/job_list.html", JOBS, words=words)


@require_GET
@needs("viewer")
def job_detail(request, job_id):
    job = _get_job(request, job_id)
    kind = job_kinds.find_kind(job.kind)
    # Of a stopped job the result is where it starts again.
    has_result = kind is not None and job.state in (JobRun.State.FINISHED, JobRun.State.STOPPED)
    context = {
        "job": job,
        "label": job_kinds.get_label(job.kind),
        "result_address": kind.build_address(job.params) if has_result else None,
        "kept": kind.cancel_text if kind else "",
        "may_cancel": request.user.has_role("labeller"),
        "reasons": job.result.get("reasons", []),
        "result": _describe_result(job, kind),
        "log": "\n".join(reversed(job.log.splitlines())),
    }
    if request.htmx and job.has_ended:
        notices.mark_seen(request, job)
    response = render_page(request, "jobs/job_detail.html", context, partial="job_state")
    return stop_polling(response) if request.htmx and job.has_ended else response


@require_GET
@needs("viewer")
def job_notice(request, job_id):
    """Show a job in one line, for a notice that polls.

    204 when the job is still in the state of the notice, 286 when it has ended. Parts of the page that wait for
    `job-ended` then load themselves again.
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
    """Cancel a job; its page says what is kept."""
    try:
        job = jobs.cancel(_get_job(request, job_id), by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=_get_job(request, job_id))
    return redirect_to(request, job)  # its page says what is kept


def _get_job(request, job_id):
    job = jobs.visible_to(request.user).filter(id=job_id).first()
    if job is None:
        raise Http404
    return job


def _describe_result(job, kind):
    if job.state != JobRun.State.FINISHED or not job.result:
        return ""
    return kind.describe_result(job.result) if kind else job_kinds.as_json(job.result)
