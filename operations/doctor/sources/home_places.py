"""The places of a home under a check: the workspace that each agent uses now, and what is odd about any of them."""

from collections.abc import Iterator
from typing import Any

from agents.homes import Home, look
from agents.layout.home_agents import check_memory, follow_report
from agents.layout.places import HARMLESS
from agents.models import Agent, CollectorSource
from collecting.stages import databases
from ledger import prompt_workspaces

from ..findings import FINDING, NOTE, Finding


def follow_reports(collection: Any, names: dict[str, str]) -> None:
    """Have the workspace of each agent follow the newest report: the stored one, unless its indexes have changed."""
    home = collection.home
    agents = Agent.objects.in_bulk(list(names.values()))
    for number, found in enumerate(home.agents):
        agent_id = names[found.home_name]
        agent = agents.get(agent_id) or Agent(agent_id=agent_id)
        at, folder = agent.workspace_reported_at or 0, agent.reported_workspace
        if agent.workspace_reported_at is None or not _is_known(collection, found, agent_id):
            newest = prompt_workspaces.read_newest(home, found, collection.copies)
            folder = newest[1] if newest[0] > at else folder
        home.agents[number] = followed = follow_report(home, found, folder)
        check_memory(home, followed)


def _is_known(collection, found, agent_id):
    """Whether the session indexes of an agent are as they were when they were read last."""
    stat = look(found.index) if found.index else None
    kind = CollectorSource.Kind.SESSION_INDEX
    is_index_known = stat is None or collection.book.is_known(kind, found.index, stat, agent_id=agent_id)
    return is_index_known and all(databases.is_known(collection, source) for source in found.databases)


def findings(home: Home, names: dict[str, str]) -> Iterator[Finding]:
    """What is odd about the places of a home; what keeps nothing from being read is a note."""
    for one in home.oddities:
        level = NOTE if one.why in HARMLESS else FINDING
        yield Finding("place", one.sentence, path=one.path, level=level, agent=names.get(one.agent, ""))
