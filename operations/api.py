"""Jobs, collecting, and all agents together."""

from django.db.models import Sum
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status

from agents.decorators import needs
from agents.schemas import PageFilters, problems
from openclaw_web.paging import page_of

from . import jobs, overview
from .models import AgentDailyStat, AgentSummary
from .schemas import CollectIn, DayOut, JobDetail, JobOut, JobPage, OverviewFilters, OverviewOut, SummaryPage

router = Router(tags=["operations"])
WHAT_IS_NEW = CollectIn()
BIG_COLUMNS = ("params_json", "log", "result_json")


@router.get("/overview", response={200: OverviewOut, **problems()})
@needs("viewer")
def overview_sums(request, filters: Query[OverviewFilters]):
    """What all agents did: in total, and on the latest days that saw something."""
    sums = {name: Sum(name) for name in DayOut.model_fields if name != "date"}
    days = AgentDailyStat.objects.values("date").annotate(**sums).order_by("-date")[: filters.days]
    return {"totals": overview.totals(AgentSummary.objects.all()), "days": list(days)[::-1]}


@router.get("/overview/agents", response={200: SummaryPage, **problems(409)})
@needs("viewer")
def overview_agents(request, filters: Query[PageFilters]):
    """What each agent did, by id."""
    page = page_of(AgentSummary.objects.all(), order=("agent_id",), after=filters.after, size=filters.limit)
    return {"items": page, "next": page.next}


@router.get("/operations/jobs", response={200: JobPage, **problems(409)})
@needs("viewer")
def job_list(request, filters: Query[PageFilters]):
    """Runs of jobs, the newest first: operators see all, everybody else the ones they started."""
    runs = jobs.visible_to(request.user).defer(*BIG_COLUMNS)
    page = page_of(runs, order=("-created_at", "-id"), after=filters.after, size=filters.limit)
    return {"items": page, "next": page.next}


@router.get("/operations/jobs/{job_id}", response={200: JobDetail, **problems(404)})
@needs("viewer")
def job_detail(request, job_id: str):
    """One run: how far it is, what it was asked, its log, and what came out."""
    return get_object_or_404(jobs.visible_to(request.user), id=job_id)


@router.post("/operations/collect", response={202: JobOut, **problems(400, 409)})
@needs("operator")
def collect(request, wanted: CollectIn = WHAT_IS_NEW):
    """Read the configured OpenClaw home again; answers the job that does it, also when one is already under way."""
    return Status(202, jobs.start("collect", wanted.params(), by=request.user.username))
