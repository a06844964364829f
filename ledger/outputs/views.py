"""The job that moves big outputs into the artifact store."""

from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from jobs import services as jobs
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post


@require_POST
@needs("operator")
def stash_outputs_start(request):
    """Queue the job that makes artifacts of outputs that are in the store already."""
    job = jobs.start("stash_outputs", {}, by=request.user.username)
    return after_post(request, _("Outputs are being stashed."), to=job)
