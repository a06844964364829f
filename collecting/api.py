"""API of imports: starts them, and lists the files that they skipped."""

from ninja import Query, Status

from jobs import services as jobs
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.pages.roles import needs

from .schemas import CollectIn, SkippedOut, SkippedQuery
from .skipped_list import SKIPPED

router = Operations("operations_api", tags=["operations"])
WHAT_IS_NEW = CollectIn()


@router.post("/operations/collect", {202: JobOut}, 400, 409)
@needs("operator")
def collect(request, body: CollectIn = WHAT_IS_NEW):
    """Import from the configured OpenClaw folder; returns the job, also if an import is already running."""
    return Status(202, jobs.start("collect", body.params(), by=request.user.username))


@router.get("/operations/skipped", Page[SkippedOut], 409)
@needs("viewer")
def skipped_list(request, filters: Query[SkippedQuery]):
    """Files, folders and index entries that the last imports did not read, by name.

    Each has the reason.
    """
    return page_to_json(SKIPPED.fits(request.user, **filters.criteria()).page(**filters.place))
