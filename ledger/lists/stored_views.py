"""The page of the memory index and the files in an agent's own database."""

from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.html import render_page

from . import stored_tables


@require_safe
@agent_view_for("viewer")
def stored_list(request, agent):
    """The memory index of an agent, or the files in its database (`?kind=`)."""
    return render_page(
        request, "ledger/stored_list.html", build_list_context(request, agent, stored_tables.STORED_LISTS)
    )


def build_list_context(request, agent, lists):
    """The template context of a page with several lists, one of them chosen (`?kind=`)."""
    name = request.GET.get("kind")
    chosen = next((entry for entry in lists if entry.name == name), lists[0])
    tabs = [{"label": entry.label, "href": f"?kind={entry.name}", "is_current": entry is chosen} for entry in lists]
    return {
        "agent": agent,
        "stored_list": chosen,
        "rows": stored_tables.read_page(agent, chosen, **read_cursors(request)),
        "tabs": tabs,
    }
