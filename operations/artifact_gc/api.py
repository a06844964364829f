"""API of the garbage collection of artifacts."""

from ninja import Status
from pydantic import Field

from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body
from openclaw_web.pages.roles import needs

from . import services


class ClearingIn(Body):
    older_than: str = Field("0s", max_length=12, description="only artifacts stored longer ago: 12h, 7d, …")
    dry_run: bool = Field(True, description="only count what would be removed")


router = Operations("operations_artifacts_api", tags=["artifacts"])
ONLY_COUNT = ClearingIn()


@router.post("/operations/artifacts/gc", {202: JobOut}, 400, 409)
@needs("admin")
def artifact_gc(request, body: ClearingIn = ONLY_COUNT):
    """Remove artifacts that nothing refers to, or count what would be removed; returns the job."""
    age = services.parse_age(body.older_than)
    return Status(202, services.start_job(older_than=age, is_dry_run=body.dry_run, by=request.user.username))
