"""Decorators for views of an agent."""

from functools import wraps

from django.shortcuts import redirect, render

from openclaw_web.pages.not_found_page import MissingPart
from openclaw_web.pages.roles import needs

from . import database_loss
from .all_agents import list_agent_ids
from .models import Agent

MOST_OFFERED = 500  # agents on the page that asks for one


def agent_view(view, *, of_all=False):
    """Turn the `agent` of the URL into an Agent.

    Every view that opens an agent's file needs it. A problem with that file appears above the page
    (`request.agent_problem`); a missing file is answered with 503.

    Where the URL names no agent, the person is asked for one; a view `of_all` agents gets None instead.
    """

    @wraps(view)
    def wrapper(request, agent="", *args, **kwargs):
        if not agent:
            return view(request, None, *args, **kwargs) if of_all else choose_agent(request)
        agent_row = Agent.objects.select_related("database").filter(agent_id=agent).first()
        if agent_row is None:
            raise MissingPart("agent")
        request.agent_problem = database_loss.problem_of(agent_row)
        return view(request, agent_row, *args, **kwargs)

    return wrapper


def agent_view_for(role, *, of_all=False):
    """A view of an agent for people of a role: the agent is found first (404), then the role is asked (403)."""
    return lambda view: agent_view(needs(role)(view), of_all=of_all)


@needs("viewer")
def choose_agent(request):
    """Ask for an agent to show this page of; with one agent, go there."""
    agents = list_agent_ids(MOST_OFFERED)
    if len(agents) == 1:
        return redirect(f"/agents/{agents[0]}{request.get_full_path()}")
    return render(request, "agents/choose_agent.html", {"agents": agents})
