"""The page with the list of writes to memory files."""

from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.roles import needs

from .audit_list import WRITES


@require_safe
@agent_view
@needs("viewer")
@shows(WRITES)
def audit_list(request, agent):
    """Show the writes that fit the filters, newest first; as a file with `format`."""
    return render_list(request, "guardian/audit_list.html", WRITES, agent=agent)
