"""All agents, as the lists of pages merge them."""

from openclaw_web.lists.merging import Merged

from . import databases
from .kept_answers import KeptAnswers
from .models import Agent


def read_all_agents() -> Merged:
    """Return all agents. No file is opened; those without one are told apart."""
    agents = {row.agent_id: row for row in Agent.objects.only("agent_id").order_by("agent_id")}
    lost = [name for name in agents if databases.is_on_disk(name) and not databases.get_path(name).exists()]
    usable = [row for name, row in agents.items() if name not in lost]
    return Merged(usable, lost, KeptAnswers())
