"""The doors of a view: whose file, and may this person."""

from functools import wraps

from openclaw_web.pages.not_found_page import MissingPart

from . import database_loss
from .models import Agent


def agent_view(view):
    """Turn the `agent` of the URL into an Agent. The one door to an agent's file.

    What is wrong with that file is said above the page (`request.agent_problem`); one that is gone is 503.
    """

    @wraps(view)
    def wrapper(request, agent, *args, **kwargs):
        found = Agent.objects.select_related("database").filter(agent_id=agent).first()
        if found is None:
            raise MissingPart("agent")
        request.agent_problem = database_loss.problem_of(found)
        return view(request, found, *args, **kwargs)

    return wrapper
