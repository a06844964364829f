"""All agents, as the lists of pages merge them."""

from openclaw_web.lists.merging import Merged

from . import databases
from .kept_answers import KeptAnswers
from .models import Agent


def read_all_agents() -> Merged:
    """Return all agents. No file is opened."""
    agents = list(Agent.objects.only("agent_id").order_by("agent_id"))
    return Merged(agents, KeptAnswers(), databases.UnusableAgent)
