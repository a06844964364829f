"""The page that sends a test message."""

from django.views.decorators.http import require_POST

from jobs import services as jobs
from jobs.notices import redirect_after_start
from openclaw_web.pages.roles import needs

from .outbox import KIND


@require_POST
@needs("operator")
def notification_test(request):
    """Send a test message to every receiver, and go to its job."""
    return redirect_after_start(request, jobs.start(KIND, {"test": True}, by=request.user.username))
