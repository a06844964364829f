"""What an agent's own database keeps beside transcripts."""

from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import stored_tables


@require_safe
@agent_view
@needs("viewer")
def stored_list(request, agent):
    """What the memory index of an agent holds, or the files in its database (`?kind=`); read only."""
    return render_page(
        request, "ledger/stored_list.html", build_list_context(request, agent, stored_tables.STORED_LISTS)
    )


def build_list_context(request, agent, lists):
    """What a page of several lists shows, one of them chosen (`?kind=`)."""
    wanted = request.GET.get("kind")
    shown = next((one for one in lists if one.name == wanted), lists[0])
    tabs = [{"label": one.label, "href": f"?kind={one.name}", "is_current": one is shown} for one in lists]
    return {
        "agent": agent,
        "shown": shown,
        "rows": stored_tables.read_page(agent, shown, **read_cursors(request)),
        "tabs": tabs,
    }
