"""API of backups: their list, and jobs that create, verify and test them."""

from django.shortcuts import get_object_or_404
from ninja import Query, Status
from pydantic import Field

from jobs import services as jobs
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Page, PageQuery, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs

from ..models import BackupRun

router = Operations("operations_backups_api", tags=["operations"])


class BackupIn(Body):
    with_exports: bool = Field(False, description="include export files")


class BackupOut(table_schema(BackupRun)):
    status: str = Field(description="running, verified, incomplete, found (not read yet), damaged, failed or gone")


PLAIN = BackupIn()


@router.get("/operations/backups", Page[BackupOut], 409)
@needs("operator")
def backup_list(request, filters: Query[PageQuery]):
    """Backups, newest first."""
    rows = BackupRun.objects.defer("manifest_json")
    return page_to_json(page_of(rows, order=("-created_at", "-id"), **filters.place))


@router.post("/operations/backups", {202: JobOut}, 400, 409)
@needs("admin")
def backup_create(request, body: BackupIn = PLAIN):
    """Create a backup; returns the job. 409 while a backup of another user is running."""
    params = {"by": request.user.username} | ({"with_exports": True} if body.with_exports else {})
    return Status(202, jobs.start("backup", params, by=request.user.username, is_alone=True))


@router.post("/operations/backups/{backup_id}/verify", {202: JobOut}, 404, 409)
@needs("admin")
def backup_verify(request, backup_id: str):
    """Read a backup in full and open its databases; returns the job."""
    return _start_job(request, "backup_verify", backup_id)


@router.post("/operations/backups/{backup_id}/drill", {202: JobOut}, 404, 409, summary="Backup Restore Test")
@needs("admin")
def backup_drill(request, backup_id: str):
    """Test a backup: restore it into a separate folder; returns the job."""
    return _start_job(request, "backup_drill", backup_id)


def _start_job(request, kind, backup_id):
    run = get_object_or_404(BackupRun, id=backup_id, status__in=BackupRun.USABLE)
    return Status(202, jobs.start(kind, {"backup": run.id}, by=request.user.username))
