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
    """Read the configured OpenClaw home again; answers the job that does it, also when one is already under way."""
    return Status(202, jobs.start("collect", wanted.params(), by=request.user.username))
