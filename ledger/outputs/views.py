"""The job that moves big outputs into the artifact store."""

from django.views.decorators.http import require_POST

from jobs import services as jobs
from jobs.notices import after_start
from openclaw_web.pages.doors import needs


@require_POST
@needs("operator")
def stash_outputs_start(request):
    """Queue the job that makes artifacts of outputs that are in the store already."""
    job = jobs.start("stash_outputs", {}, by=request.user.username)
    return after_start(request, job)
