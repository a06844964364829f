"""API of the doctor: its last check, runs with receipts, excluded sessions, and its jobs."""

from typing import Any, Literal

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Query, Status
from pydantic import Field

from agents.models import Agent
from collecting.models import MigrationRun, MigrationSource
from jobs import services as jobs
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Page, PageQuery, Schema, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs

from . import doctor_jobs, ignored_sessions

router = Operations("operations_doctor_api", tags=["operations"])
MOST = 1_000  # of a list in a receipt


class LookOut(Schema):
    job: JobOut | None = Field(description="the last finished check or run; null: not checked yet")
    under_way: JobOut | None
    receipt: dict[str, Any] | None = Field(description="what was found, as printed by `openclaw-web doctor --json`")


class RunOut(table_schema(MigrationRun)):
    status: str = Field(description="running, completed, warning, failed or undone")


class RunDetail(RunOut):
    receipt: dict[str, Any] = Field(
        description="plan, backup, repairs, new sessions by agent, warnings, removed; of longer lists the first "
        f"{MOST}, with their full length in `cut`"
    )

    @staticmethod
    def resolve_receipt(run):
        receipt = run.report | {"sessions": {agent: len(ids) for agent, ids in run.report.get("sessions", {}).items()}}
        cut = {name: len(rows) for name, rows in receipt.items() if isinstance(rows, list) and len(rows) > MOST}
        return receipt | {name: receipt[name][:MOST] for name in cut} | {"cut": cut}


class SourceOut(table_schema(MigrationSource)):
    status: str = Field(description="imported, warning or ignored")
    report: dict[str, Any]


class IgnoredOut(Schema):
    agent: str
    session_id: str
    path: str = Field(description="the file, or `database#session`")
    run: str = Field(description="the undone run")


class FixIn(Body):
    sources: Literal["keep", "archive", "remove"] = Field("keep", description="what to do with imported legacy files")
    include_deleted: bool = Field(False, description="also deleted and reset sessions")
    deep: bool = Field(False, description="compare every record with its source, before and after")
    accept_losses: bool = Field(False, description="stop reporting records found in no source and no backup")


class AgainIn(Body):
    agent: str = Field("", max_length=56, description="empty: all agents")
    session: str = Field("", max_length=200, description="id or key of a session of this agent; empty: all sessions")


class UndoIn(Body):
    force: bool = Field(False, description="even if source files were moved or removed")


class UnignoreIn(Body):
    what: str = Field(max_length=500, description="`agent/session`, or the id of a run that was undone")


KEEP_ALL, PLAIN, ALL = FixIn(), UndoIn(), AgainIn()


@router.get("/operations/doctor", LookOut, summary="Doctor Latest Check")
@needs("operator")
def doctor_look_detail(request):
    """The result of the last check or run."""
    last, under_way = doctor_jobs.find_last_job(), doctor_jobs.find_active_job()
    return {"job": last, "under_way": under_way, "receipt": (last.result or None) if last else None}


@router.post("/operations/doctor/look", {202: JobOut}, 400, 409, summary="Doctor Check")
@needs("operator")
def doctor_look(request):
    """Check every source and the store, without changing anything; returns the job."""
    return _start_job(request, "doctor_look", doctor_jobs.build_params())


@router.post("/operations/doctor/compare", {202: JobOut}, 400, 409)
@needs("admin")
def doctor_compare(request):
    """Check everything and compare every record with its source, without changing anything; returns the job."""
    return _start_job(request, "doctor_look", doctor_jobs.build_params(deep=True))


@router.post("/operations/doctor/again", {202: JobOut}, 400, 404, 409, summary="Doctor Import Again")
@needs("admin")
def doctor_again(request, body: AgainIn = ALL):
    """Import sessions again from every source that still contains them; returns the job."""
    if body.session and not body.agent:
        raise Refused(_("Enter the agent of this session."))
    if body.agent and not Agent.objects.filter(agent_id=body.agent).exists():
        raise Http404(_("There is no agent %(name)s.") % {"name": body.agent})
    return _start_job(request, "collect", doctor_jobs.build_import_params(**body.dict()))


@router.post("/operations/doctor/fix", {202: JobOut}, 400, 409, summary="Doctor Repair")
@needs("admin")
def doctor_fix(request, body: FixIn = KEEP_ALL):
    """Back up, repair, import, compare and write a receipt; returns the job."""
    return _start_job(request, "doctor", doctor_jobs.build_params(by=request.user.username, **body.dict()))


@router.get("/operations/doctor/runs", Page[RunOut], 409)
@needs("operator")
def doctor_run_list(request, filters: Query[PageQuery]):
    """Runs of `doctor --fix`, newest first."""
    rows = MigrationRun.objects.defer("report_json", "before_json")
    return page_to_json(page_of(rows, order=("-started_at", "-id"), **filters.place))


@router.get("/operations/doctor/runs/{run_id}", RunDetail, 404)
@needs("operator")
def doctor_run_detail(request, run_id: str):
    """One run with its receipt."""
    return get_object_or_404(MigrationRun.objects.defer("before_json"), id=run_id)


@router.get("/operations/doctor/runs/{run_id}/sources", Page[SourceOut], 404, 409)
@needs("operator")
def doctor_source_list(request, run_id: str, filters: Query[PageQuery]):
    """The result of each source in the last run that imported it or tried to."""
    run = get_object_or_404(MigrationRun.objects.only("id"), id=run_id)
    return page_to_json(page_of(MigrationSource.objects.filter(last_run=run), order=("source_key",), **filters.place))


@router.post("/operations/doctor/runs/{run_id}/undo", {202: JobOut}, 400, 404, 409)
@needs("admin")
def doctor_undo(request, run_id: str, body: UndoIn = PLAIN):
    """Remove the sessions that a run imported first; returns the job."""
    run = get_object_or_404(MigrationRun.objects.only("id"), id=run_id, status__in=doctor_jobs.UNDOABLE_STATUSES)
    forced = {"force": True} if body.force else {}
    return _start_job(request, "doctor_undo", {"run": run.id, "by": request.user.username} | forced)


@router.get("/operations/doctor/ignored", Page[IgnoredOut], 409, summary="Doctor Excluded List")
@needs("operator")
def doctor_ignored_list(request, filters: Query[PageQuery]):
    """Sessions removed by an undo: imports exclude them."""
    page = page_of(ignored_sessions.rows(), order=ignored_sessions.ORDER, **filters.place)
    return page_to_json(page, [ignored_sessions.as_json(row) for row in page])


@router.post("/operations/doctor/unignore", {202: JobOut}, 400, 409, summary="Doctor Allow Again")
@needs("admin")
def doctor_unignore(request, body: UnignoreIn):
    """Allow excluded sessions again; returns the job."""
    return _start_job(request, "doctor_unignore", {"what": body.what, "by": request.user.username})


def _start_job(request, kind, params):
    return Status(202, jobs.start(kind, params, by=request.user.username))
