"""The lists of an agent: sessions, records, turns."""

from django.views.decorators.http import require_safe

from agents import omissions
from agents.all_agents import read_all_agents
from agents.decorators import agent_view_for
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list

from .event_list import EVENTS
from .session_list import SESSIONS
from .turn_list import TURNS


@require_safe
@agent_view_for("viewer", of_all=True)
@shows(SESSIONS)
def session_list(request, agent):
    """The sessions that fit the filters, the last active first; as a file with `format`."""
    context = {"left_out": omissions.describe_omissions(agent and agent.agent_id)}
    return render_list(request, "ledger/session_list.html", SESSIONS, agent=agent or read_all_agents(), **context)


@require_safe
@agent_view_for("viewer", of_all=True)
@shows(EVENTS)
def event_list(request, agent):
    """The records that fit the filters, the newest first; as a file with `format`."""
    return render_list(request, "ledger/event_list.html", EVENTS, agent=agent or read_all_agents())


@require_safe
@agent_view_for("viewer", of_all=True)
@shows(TURNS)
def turn_list(request, agent):
    """The turns that fit the filters, the newest first; as a file with `format`."""
    return render_list(request, "ledger/turn_list.html", TURNS, agent=agent or read_all_agents())
