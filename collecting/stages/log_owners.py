"""Finds the agents of decisions in the plugin's log, by workspace, key and session.

A log names workspaces as the configuration writes them, also in a home that was copied elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.models import CollectorSource
from gate.collectors.source_decisions import SourceDecision
from gate.recording import foreign_decisions, turn_matching
from gate.recording.log_import import parse_agent_name


@dataclass(frozen=True, slots=True)
class Owner:
    """The agent of a decision, and the workspace whose log has its fact.

    `home_name` is the agent's name in the home.
    """

    home_name: str
    workspace: Path | None


class LogOwners:
    """Finds the agent of each decision in a log.

    `left_out` counts decisions of other homes by the names in their lines.
    """

    def __init__(self, collection: Any):
        self.agents = collection.agents
        self.own_agents = sorted(
            (agent for agent in collection.home.agents if agent.home_name in self.agents),
            key=lambda agent: (agent.home_name != "main", self.agents[agent.home_name].agent_id),
        )
        self.folders = {agent.home_name: agent.workspace for agent in self.own_agents}
        self.paths = {agent.home_name: _find_paths(agent) for agent in self.own_agents}
        self.by_workspace: dict[str, str] = {}
        for name, paths in self.paths.items():
            self.by_workspace |= {path: name for path in paths if path not in self.by_workspace}
        self.has_other_homes = CollectorSource.objects.exclude(root=str(collection.home.root)).exists()
        self.left_out: foreign_decisions.Moments = {}

    def group_by_owner(self, decisions: Iterable[SourceDecision]) -> dict[Owner, list[SourceDecision]]:
        """The decisions of agents of this home, by owner."""
        owned: dict[Owner, list[SourceDecision]] = {}
        for decision in decisions:
            if owner := self._find_decision_owner(decision):
                owned.setdefault(owner, []).append(decision)
            else:
                is_of_workspace = not self.agent_of_workspace(decision.workspace)
                foreign_decisions.add_decision(self.left_out, decision, is_of_workspace=is_of_workspace)
        return owned

    def agent_of_workspace(self, workspace: str | None) -> str:
        """The name of the first agent with this workspace; empty without one."""
        return self.by_workspace.get(_strip_slash(workspace or ""), "")

    def has_workspace(self, home_name: str, workspace: str | None) -> bool:
        """Whether an agent has this workspace. Several agents may share it."""
        return _strip_slash(workspace or "") in self.paths.get(home_name, ())

    def _find_decision_owner(self, decision) -> Owner | None:
        of_key, of_workspace = parse_agent_name(decision), self.agent_of_workspace(decision.workspace)
        if of_key and of_key not in self.agents:
            return None
        if decision.workspace and not of_workspace:
            return None
        if not decision.workspace and self.has_other_homes and not (of_workspace := self._find_session_agent(decision)):
            return None
        name = of_key or of_workspace or next(agent.home_name for agent in self.own_agents)
        return Owner(name, self.folders.get(of_workspace or name))

    def _find_session_agent(self, decision):
        """The name of the agent with the session of a decision; empty without one."""
        keys = [key for key in (decision.original_key, decision.session_key) if key]
        names = (agent.home_name for agent in self.own_agents if _has_session(self.agents[agent.home_name], keys))
        return next(names, "")


def _has_session(agent, keys):
    return bool(keys and turn_matching.find_session_ids(agent.db, agent.agent_id, keys))


def _find_paths(agent):
    """The workspace paths of an agent: as configured, as reported, and as read."""
    paths = (agent.written, agent.reported, agent.configured, agent.workspace)
    return {_strip_slash(path) for path in paths if path}


def _strip_slash(path):
    return str(path).rstrip("/")
