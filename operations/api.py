"""Jobs, collecting, and all agents together."""

from django.db.models import Sum
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status

from agents.decorators import needs
from openclaw_web.endpoints.schemas import Page, failures, listed
from openclaw_web.paging import Term, page_of

from . import jobs, overview
from .models import AgentDailyStat, AgentSummary
from .schemas import (
    SUMMARY_ORDERS,
    CollectIn,
    DayOut,
    JobDetail,
    JobOut,
    JobQuery,
    OverviewOut,
    OverviewQuery,
    SummaryOut,
    SummaryQuery,
)

router = Router(tags=["operations"])
WHAT_IS_NEW = CollectIn()
JOB_COLUMNS = ("kind", "state", "started_by")


@router.get("/overview", operation_id="operations_api_overview_sums", response={200: OverviewOut, **failures()})
@needs("viewer")
def overview_sums(request, filters: Query[OverviewQuery]):
    """What all agents did: in total, and on the latest days that saw something."""
    sums = {name: Sum(name) for name in DayOut.model_fields if name != "date"}
    days = AgentDailyStat.objects.values("date").annotate(**sums).order_by("-date")[: filters.days]
    return {"totals": overview.totals(AgentSummary.objects.all()), "days": list(days)[::-1]}


@router.get(
    "/overview/agents", operation_id="operations_api_overview_agents", response={200: Page[SummaryOut], **failures(409)}
)
@needs("viewer")
def overview_agents(request, filters: Query[SummaryQuery]):
    """What each agent did, by id or in another order."""
    return listed(page_of(AgentSummary.objects.all(), order=SUMMARY_ORDERS[filters.sort], **filters.place))


@router.get("/operations/jobs", operation_id="operations_api_job_list", response={200: Page[JobOut], **failures(409)})
@needs("viewer")
def job_list(request, filters: Query[JobQuery]):
    """Runs of jobs, the newest first: operators see all, everybody else the ones they started."""
    terms = [Term(name, "exact", value) for name in JOB_COLUMNS if (value := getattr(filters, name))]
    return listed(jobs.listing(request.user, terms).page(**filters.place))


@router.get(
    "/operations/jobs/{job_id}", operation_id="operations_api_job_detail", response={200: JobDetail, **failures(404)}
)
@needs("viewer")
def job_detail(request, job_id: str):
    """One run: how far it is, what it was asked, its log, and what came out."""
    return get_object_or_404(jobs.visible_to(request.user), id=job_id)


@router.post(
    "/operations/jobs/{job_id}/cancel",
    operation_id="operations_api_job_cancel",
    response={202: JobOut, **failures(404, 409)},
)
@needs("labeller")
def job_cancel(request, job_id: str):
    """Ask a job to end: one that waits does so at once, one that runs at its next step. 409 for one that has ended.

    Operators may cancel any, others the ones they started. To ask again changes nothing.
    """
    job = get_object_or_404(jobs.visible_to(request.user), id=job_id)
    return Status(202, jobs.cancel(job, by=request.user.username))


@router.post("/operations/collect", operation_id="operations_api_collect", response={202: JobOut, **failures(400, 409)})
@needs("operator")
def collect(request, wanted: CollectIn = WHAT_IS_NEW):
    """Read the configured OpenClaw home again; answers the job that does it, also when one is already under way."""
    return Status(202, jobs.start("collect", wanted.params(), by=request.user.username))
