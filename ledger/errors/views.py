"""The list of errors, of all agents or of one."""

from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list

from .error_list import ERRORS


@require_safe
@agent_view_for("viewer", of_all=True)
@shows(ERRORS)
def error_list(request, agent):
    """The groups of errors that fit the filters, the last ones first; as a file with `format`.

    Groups are rows of the global file: those of all agents need no merging.
    """
    return render_list(request, "ledger/error_list.html", ERRORS, agent=agent)
