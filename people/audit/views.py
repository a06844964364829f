"""The audit log: who did what."""

from django.views.decorators.http import require_safe

from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.roles import needs

from .audit_list import AUDIT


@require_safe
@needs("admin")
@shows(AUDIT)
def audit_list(request):
    """The entries that fit the filters, the newest first; as a file with `format`."""
    return render_list(request, "people/audit_list.html", AUDIT)
