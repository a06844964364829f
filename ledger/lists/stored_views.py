"""What an agent's own database keeps beside transcripts."""

from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from openclaw_web.lists.paging import places
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import render_page

from . import stored


@require_safe
@agent_view
@needs("viewer")
def stored_list(request, agent):
    """What the memory index of an agent holds, or the files in its database (`?kind=`); read only."""
    return render_page(request, "ledger/stored_list.html", tabs_and_rows(request, agent, stored.STORED))


def tabs_and_rows(request, agent, lists):
    """What a page of several lists shows, one of them chosen (`?kind=`)."""
    wanted = request.GET.get("kind")
    shown = next((one for one in lists if one.name == wanted), lists[0])
    tabs = [{"label": one.label, "href": f"?kind={one.name}", "is_current": one is shown} for one in lists]
    return {"agent": agent, "shown": shown, "rows": stored.page(agent, shown, **places(request)), "tabs": tabs}
