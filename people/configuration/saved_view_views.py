"""Views (pages) that save and remove views of lists."""

from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from openclaw_web.errors import Refused
from openclaw_web.pages.html import read_next_address, redirect_after_post, refuse_post
from openclaw_web.pages.roles import needs

from ..audit import log as audit
from . import saved_views
from .forms import SavedViewForm


@require_POST
@needs("viewer")
def view_keep(request):
    """Save the filters of a list under a name, and return to the list."""
    back, by = read_next_address(request, reverse("overview:overview")), request.user.username
    try:
        view = SavedViewForm(request.POST).read_view()
        saved_views.save_view(by, view["on"], view["name"], view["query"])
    except Refused as refused:
        return refuse_post(request, refused, to=back)
    audit.record(by, "view_kept", object_type="list", object_id=view["on"], name=view["name"], filter=view["query"])
    return redirect_after_post(request, _("View “%(name)s” saved.") % {"name": view["name"]}, to=back)


@require_POST
@needs("viewer")
def view_forget(request):
    """Remove one of the person's views, and return to the list."""
    back, by = read_next_address(request, reverse("overview:overview")), request.user.username
    try:
        view = SavedViewForm(request.POST).read_view()
    except Refused as refused:
        return refuse_post(request, refused, to=back)
    saved_views.delete_view(by, view["on"], view["name"])
    audit.record(by, "view_removed", object_type="list", object_id=view["on"], name=view["name"])
    return redirect_after_post(request, _("View “%(name)s” removed.") % {"name": view["name"]}, to=back)
