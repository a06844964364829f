"""The view of the audit log."""

from django.views.decorators.http import require_safe

from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.roles import needs

from .audit_list import AUDIT


@require_safe
@needs("admin")
@shows(AUDIT)
def audit_list(request):
    """The entries that match the filters, newest first; a file with `format`."""
    return render_list(request, "people/audit_list.html", AUDIT)
