"""Clears the artifact store over the JSON API."""

from ninja import Router, Status

from jobs.schemas import JobOut
from openclaw_web.endpoints.schemas import failures
from openclaw_web.pages.doors import needs

from . import services as clearing
from .schemas import ClearingIn

router = Router(tags=["artifacts"])
ONLY_COUNT = ClearingIn()


@router.post(
    "/operations/artifacts/gc",
    operation_id="operations_artifacts_api_artifact_gc",
    response={202: JobOut, **failures(400, 409)},
)
@needs("admin")
def artifact_gc(request, wanted: ClearingIn = ONLY_COUNT):
    """Remove contents that nothing refers to, or count what would go; answers the job that does it."""
    age = clearing.seconds(wanted.older_than)
    return Status(202, clearing.start(older_than=age, is_dry_run=wanted.dry_run, by=request.user.username))
