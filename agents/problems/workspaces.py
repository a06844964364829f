"""Agents whose newest prompt came from another workspace than the configured one.

Imports keep a row of `kv` for each such agent.
"""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy

from people.models.bookkeeping import KeyValue
from problems.kinds import Facts, Finding, Kind, Link

from ..homes import HomeAgent
from ..layout.home_agents import describe_difference
from ..models import Agent

SCOPE = "workspace_differs"


def note_difference(agent: Agent, home_agent: HomeAgent) -> None:
    """Store that an agent's workspaces differ, or that they do not any more."""
    has_two = home_agent.more_workspaces or (home_agent.reported and not home_agent.is_reported)
    facts = {"reported": home_agent.reported, "configured": str(home_agent.configured)}
    facts |= {"is_reported": home_agent.is_reported}
    rows = KeyValue.objects.filter(scope=SCOPE, key=agent.agent_id)
    noted = rows.decoded().get(agent.agent_id)
    if has_two and home_agent.configured and noted != facts:
        KeyValue.objects.put(SCOPE, agent.agent_id, facts)
    elif noted and not (has_two and home_agent.configured):
        rows.delete()


def check_workspaces() -> Iterable[Finding]:
    """Report the agents of which the last import found two workspaces."""
    agents = set(Agent.objects.values_list("agent_id", flat=True))
    for agent_id, facts in KeyValue.objects.filter(scope=SCOPE).decoded().items():
        if agent_id in agents:
            yield Finding(facts["reported"], facts, agent_id=agent_id)


def _describe(facts: Facts) -> str:
    return describe_difference(facts["agent"], facts["reported"], facts["configured"], is_reported=facts["is_reported"])


WORKSPACE_DIFFERS = Kind(
    label=gettext_lazy("Two workspaces"),
    severity=56,
    describe=_describe,
    link=lambda facts: Link(gettext_lazy("View files"), "guardian:file_list", (facts["agent"],)),
    check=check_workspaces,
)
