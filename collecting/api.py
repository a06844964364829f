"""Starts collects over the JSON API."""

from ninja import Status

from jobs import services as jobs
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.doors import needs

from .schemas import CollectIn

router = Operations("operations_api", tags=["operations"])
WHAT_IS_NEW = CollectIn()


@router.post("/operations/collect", {202: JobOut}, 400, 409)
@needs("operator")
def collect(request, wanted: CollectIn = WHAT_IS_NEW):
    """Import from the configured OpenClaw folder; returns the job, also if an import is already running."""
    return Status(202, jobs.start("collect", wanted.params(), by=request.user.username))
