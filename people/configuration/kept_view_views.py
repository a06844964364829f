"""Views of lists that people keep: filters and an order under a name."""

from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from openclaw_web.errors import Refused
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, refuse_post, safe_next

from ..audit import log as audit
from . import kept_views
from .forms import KeptViewForm


@require_POST
@needs("viewer")
def view_keep(request):
    """Keep the filters of a list under a name, and go back to the list."""
    back, by = safe_next(request, reverse("overview:overview")), request.user.username
    try:
        view = KeptViewForm(request.POST).asked()
        kept_views.keep(by, view["on"], view["name"], view["query"])
    except Refused as refused:
        return refuse_post(request, refused, to=back)
    audit.record(by, "view_kept", object_type="list", object_id=view["on"], name=view["name"], filter=view["query"])
    return after_post(request, _("View “%(name)s” saved.") % {"name": view["name"]}, to=back)


@require_POST
@needs("viewer")
def view_forget(request):
    """Remove a view of one's own, and go back to the list."""
    back, by = safe_next(request, reverse("overview:overview")), request.user.username
    try:
        view = KeptViewForm(request.POST).asked()
    except Refused as refused:
        return refuse_post(request, refused, to=back)
    kept_views.forget(by, view["on"], view["name"])
    audit.record(by, "view_removed", object_type="list", object_id=view["on"], name=view["name"])
    return after_post(request, _("View “%(name)s” removed.") % {"name": view["name"]}, to=back)
