"""Contains damage of one agent's own file, so that the import of other agents continues."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, connections
from django.utils.translation import gettext as _

from agents import databases
from agents.models import Agent
from openclaw_web import reasons
from openclaw_web.errors import Refused
from openclaw_web.sqlite import failures, inspection


@contextmanager
def contain_damage(collection: Any, home_agent: Any) -> Iterator[None]:
    """End the import of an agent whose file is unusable, and report it as lost."""
    agent = collection.agents[home_agent.home_name]
    try:
        yield
    except databases.OldAgentFile as exc:
        _exclude_agent(collection, home_agent.home_name, agent, str(exc))
    except DatabaseError as exc:
        if not _is_damaged(agent, exc):
            raise
        _exclude_agent(collection, home_agent.home_name, agent, _describe_damage(agent, exc))


def run_without_damaged(collection: Any, stage: Callable[[Any], Any]) -> Any:
    """Run a stage of an import; repeat it without agents whose files are damaged."""
    while True:
        try:
            return stage(collection)
        except DatabaseError as exc:
            damaged = {name: agent for name, agent in collection.agents.items() if _is_damaged(agent, exc)}
            if not damaged:
                raise
            for name, agent in damaged.items():
                _exclude_agent(collection, name, agent, _describe_damage(agent, exc))


def _exclude_agent(collection, name, agent: Agent, sentence):
    collection.lost[agent.agent_id] = f"{sentence} {databases.describe_replacement(agent.agent_id)}"
    del collection.agents[name]
    if not collection.agents:
        raise Refused(" ".join(collection.lost.values()))


def _is_damaged(agent, exc):
    """Whether a failure may come from this agent's file, by checking its pages."""
    if not (failures.is_damage(exc) or failures.is_of_disk(exc)):
        return False
    name = f"agent_{agent.agent_id}"
    if name in connections.settings:
        connections[name].close()  # an interrupted transaction is rolled back
    file = databases.get_path(agent.agent_id)
    return file.exists() and inspection.inspect_file(file).damage != ""


def _describe_damage(agent, exc):
    words = {"agent": agent.agent_id, "reason": reasons.describe_error(exc)}
    return _("The database of agent %(agent)s was not read: %(reason)s.") % words
