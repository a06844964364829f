"""Lets rules approve samples again, and undoes what their stop sent to review."""

from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from openclaw_web.amounts import format_plural
from openclaw_web.errors import Refused
from openclaw_web.pages.html import redirect_after_post, refuse_post
from openclaw_web.pages.roles import needs

from . import checks


@require_POST
@needs("admin")
def approval_resume(request):
    """Let rules approve again; their checks are counted anew."""
    return _do(request, checks.resume_approval, lambda _none: _("Rules may approve samples again."))


@require_POST
@needs("admin")
def approval_undo(request):
    """Approve again what the last stop sent to review and nobody judged since."""
    return _do(request, checks.approve_again, _describe_approved)


def _describe_approved(count):
    return format_plural("%(count)s sample is approved again.", "%(count)s samples are approved again.", count)


def _do(request, act, describe):
    to = reverse("datasets:collection_list")
    try:
        result = act(by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=to)
    return redirect_after_post(request, describe(result), to=to)
