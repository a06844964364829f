"""API of notifications."""

from ninja import Status

from jobs import services as jobs
from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.pages.roles import needs

from .outbox import KIND

router = Operations("operations_notifications_api", tags=["operations"])


@router.post("/operations/notifications/test", {202: JobOut}, 409)
@needs("operator")
def notification_test(request):
    """Send a test message to every receiver; returns the job."""
    return Status(202, jobs.start(KIND, {"test": True}, by=request.user.username))
