"""The page of background work."""

from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from ledger.lists.stored_views import build_list_context
from openclaw_web.pages.html import render_page

from . import background


@require_safe
@agent_view_for("viewer")
def background_list(request, agent):
    """Tasks, flows or deliveries of an agent (`?kind=`)."""
    return render_page(
        request, "automation/background_list.html", build_list_context(request, agent, background.BACKGROUND)
    )
