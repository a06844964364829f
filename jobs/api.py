"""Endpoints of jobs in the JSON API."""

from django.shortcuts import get_object_or_404
from ninja import Query, Status

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.pages.roles import needs

from . import services as jobs
from .job_list import JOBS
from .schemas import JobDetail, JobOut, JobQuery

router = Operations("operations_api", tags=["operations"])


@router.get("/operations/jobs", Page[JobOut], 409)
@needs("viewer")
def job_list(request, filters: Query[JobQuery]):
    """Jobs, newest first: operators see all jobs, other users the jobs they started."""
    return page_to_json(JOBS.fits(request.user, **filters.criteria()).page(**filters.place))


@router.get("/operations/jobs/{job_id}", JobDetail, 404)
@needs("viewer")
def job_detail(request, job_id: str):
    """One job: its progress, parameters, log and result."""
    return get_object_or_404(jobs.visible_to(request.user), id=job_id)


@router.post("/operations/jobs/{job_id}/cancel", {202: JobOut}, 404, 409)
@needs("labeller")
def job_cancel(request, job_id: str):
    """Cancel a job: a queued job ends at once, a running job at its next step.

    409 for a job that has ended. Operators may cancel any job, others the ones they started. A second request changes
    nothing.
    """
    job = get_object_or_404(jobs.visible_to(request.user), id=job_id)
    return Status(202, jobs.cancel(job, by=request.user.username))
