"""All agents: as the lists of pages merge them, and by their ids."""

from openclaw_web.lists.merging import Merged

from . import databases
from .models import Agent
from .read_cache import ReadCache


def read_all_agents() -> Merged:
    """Return all agents. No file is opened; those without one are told apart."""
    agents = {row.agent_id: row for row in Agent.objects.only("agent_id").order_by("agent_id")}
    lost = [name for name in agents if databases.is_on_disk(name) and not databases.get_path(name).exists()]
    usable = [row for name, row in agents.items() if name not in lost]
    return Merged(usable, lost, ReadCache())


def list_agent_ids(count: int) -> list[str]:
    """Return the first ids of agents, `count` at most; no agent's file is opened."""
    return list(Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)[:count])


FILTERS = {"agent_ids": list_agent_ids}  # of templates
