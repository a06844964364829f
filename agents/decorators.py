"""Decorators for views of an agent."""

from functools import wraps

from openclaw_web.pages.not_found_page import MissingPart
from openclaw_web.pages.roles import needs

from . import database_loss
from .models import Agent


def agent_view(view):
    """Turn the `agent` of the URL into an Agent.

    Every view that opens an agent's file needs it. A problem with that file appears above the page
    (`request.agent_problem`); a missing file is answered with 503.
    """

    @wraps(view)
    def wrapper(request, agent, *args, **kwargs):
        agent_row = Agent.objects.select_related("database").filter(agent_id=agent).first()
        if agent_row is None:
            raise MissingPart("agent")
        request.agent_problem = database_loss.problem_of(agent_row)
        return view(request, agent_row, *args, **kwargs)

    return wrapper


def agent_view_for(role):
    """A view of an agent for people of a role: the agent is found first (404), then the role is asked (403)."""
    return lambda view: agent_view(needs(role)(view))
