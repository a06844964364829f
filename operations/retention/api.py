"""API of retention: runs, removed sessions, and jobs that count, remove or archive old sessions."""

from typing import Any, Literal

from ninja import Query, Status
from pydantic import Field

from agents.decorators import agent_view_for
from jobs import services as jobs
from jobs.schemas import JobOut
from ledger.models import RemovedSession
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Page, PageQuery, Schema, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs

from . import services, session_selection

router = Operations("operations_retention_api", tags=["operations"])


class RetentionIn(Body):
    days: int = Field(strict=True, ge=1, le=36_500, description="sessions inactive for this many days")


class RetentionRun(Schema):
    job: JobOut
    what: Literal["count", "remove", "archive"]
    days: int | None = Field(description="as requested; null: from the setting at that time, or a day")
    before: str | None = Field(description="the day, UTC; null until the run has finished")
    sessions: int | None = Field(description="sessions that can be removed (count), or were removed")
    records: int | None
    turns: int | None
    kept: dict[str, int] | None = Field(description="how many old sessions are kept, by reason")
    failed_count: int | None = Field(description="sessions that could not be removed")
    bytes: int | None = Field(description="bytes of the archives")
    out: str | None = Field(description="the folder of archives")


class RemovedQuery(PageQuery):
    why: Literal["retention", "archive"] | None = None


class RemovedOut(table_schema(RemovedSession)):
    why: str = Field(description="retention: permanently removed; archive: kept in `archive`")


FACTS = ("before", "sessions", "records", "turns", "kept", "failed_count", "bytes", "out")


@router.get("/operations/retention", Page[RetentionRun], 409)
@needs("admin")
def retention_list(request, filters: Query[PageQuery]):
    """Runs that counted, removed or archived old sessions, newest first."""
    page = page_of(jobs.find_by_kind(services.JOB_KINDS), order=jobs.NEWEST_FIRST, **filters.place)
    return page_to_json(page, [_run_to_json(run) for run in page])


@router.post("/operations/retention/count", {202: JobOut}, 400, 409)
@needs("admin")
def retention_count(request, body: RetentionIn):
    """Count old sessions without removing anything; returns the job."""
    return _start_job(request, "retention", {"days": body.days, "dry_run": True})


@router.post("/operations/retention/remove", {202: JobOut}, 400, 409)
@needs("admin")
def retention_remove(request, body: RetentionIn):
    """Permanently remove old sessions; returns the job. Sessions that evidence needs are kept."""
    return _start_job(request, "retention", {"days": body.days})


@router.post("/operations/retention/archive", {202: JobOut}, 400, 409)
@needs("admin")
def retention_archive(request, body: RetentionIn):
    """Move old sessions to archives, which are read back first; returns the job."""
    return _start_job(request, "archive", {"before": session_selection.days_ago(body.days)})


@router.get("/agents/{agent}/removed-sessions", Page[RemovedOut], 404, 409, 503)
@agent_view_for("admin")
def removed_session_list(request, agent, filters: Query[RemovedQuery]):
    """Sessions of an agent that were removed because of their age, latest first, with their archives."""
    rows = RemovedSession.objects.using(agent.db)
    rows = rows.filter(why=filters.why) if filters.why else rows.all()
    return page_to_json(page_of(rows, order=("-removed_at", "-session_id"), **filters.place))


def _start_job(request, kind, params):
    by = request.user.username
    return Status(202, jobs.start(kind, {**params, "by": by}, by=by))


def _run_to_json(run) -> dict[str, Any]:
    params, receipt = run.params, run.result
    action = "count" if params.get("dry_run") else "archive" if run.kind == "archive" else "remove"
    days = receipt.get("days") or params.get("days")
    return {"job": run, "what": action, "days": days, **{name: receipt.get(name) for name in FACTS}}
