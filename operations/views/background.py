"""What an agent's databases hold beside sessions: work in the background, indexed memory, files of their own."""

from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from agents.decorators import agent_view, needs
from openclaw_web.html import render_page
from openclaw_web.paging import places
from operations import background


@require_safe
@agent_view
@needs("viewer")
def background_list(request, agent):
    """Tasks, flows or deliveries of an agent (`?kind=`)."""
    words = {"title": _("Background work"), "note": _("Work that goes on beside conversations.")}
    return answer(request, agent, background.BACKGROUND, words | {"here": "background"})


@require_safe
@agent_view
@needs("viewer")
def stored_list(request, agent):
    """What the memory index of an agent holds, or the files in its database (`?kind=`); read only."""
    words = {"title": _("Databases"), "note": _("What OpenClaw keeps for this agent in databases, read only.")}
    return answer(request, agent, background.STORED, words | {"here": "stored"})


def answer(request, agent, lists, words):
    """The page of several lists, one of them shown (`?kind=`)."""
    wanted = request.GET.get("kind")
    shown = next((one for one in lists if one.name == wanted), lists[0])
    tabs = [{"label": one.label, "href": f"?kind={one.name}", "is_current": one is shown} for one in lists]
    rows = background.page(agent, shown, **places(request))
    headings = shown.headings[1:] if shown.has_state else shown.headings
    for row in rows:
        row.labelled = list(zip(headings, row.cells, strict=True))
    context = {"agent": agent, "shown": shown, "rows": rows, "tabs": tabs, **words}
    return render_page(request, "operations/background_list.html", context)
