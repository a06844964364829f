"""Owners of the decisions in a log of the plugin: agents of this home, by workspace, key and session.

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
    """The agent of a decision by its name in the home, and the workspace whose log has its fact."""

    home_name: str
    workspace: Path | None


class LogOwners:
    """Finds the agent of each decision of a log; `left_out` are those of nobody here, by what their lines name."""

    def __init__(self, collection: Any):
        self.agents = collection.agents
        self.here = sorted(
            (agent for agent in collection.home.agents if agent.home_name in self.agents),
            key=lambda agent: (agent.home_name != "main", self.agents[agent.home_name].agent_id),
        )
        self.folders = {agent.home_name: agent.workspace for agent in self.here}
        self.paths = {agent.home_name: _paths(agent) for agent in self.here}
        self.by_workspace: dict[str, str] = {}
        for name, paths in self.paths.items():
            self.by_workspace |= {path: name for path in paths if path not in self.by_workspace}
        self.has_other_homes = CollectorSource.objects.exclude(root=str(collection.home.root)).exists()
        self.left_out: foreign_decisions.Moments = {}

    def group_by_owner(self, found: Iterable[SourceDecision]) -> dict[Owner, list[SourceDecision]]:
        """The decisions of agents of this home, by owner."""
        owned: dict[Owner, list[SourceDecision]] = {}
        for decision in found:
            if owner := self._owner(decision):
                owned.setdefault(owner, []).append(decision)
            else:
                is_of_workspace = not self.agent_of_workspace(decision.workspace)
                foreign_decisions.add_decision(self.left_out, decision, is_of_workspace=is_of_workspace)
        return owned

    def agent_of_workspace(self, workspace: str | None) -> str:
        """The name of the first agent with this workspace; empty: none here has it."""
        return self.by_workspace.get(_plain(workspace or ""), "")

    def has_workspace(self, home_name: str, workspace: str | None) -> bool:
        """Whether an agent has this workspace, which several may share."""
        return _plain(workspace or "") in self.paths.get(home_name, ())

    def _owner(self, decision) -> Owner | None:
        of_key, of_workspace = parse_agent_name(decision), self.agent_of_workspace(decision.workspace)
        if of_key and of_key not in self.agents:
            return None
        if decision.workspace and not of_workspace:
            return None
        if not decision.workspace and self.has_other_homes and not (of_workspace := self._agent_of_session(decision)):
            return None
        name = of_key or of_workspace or next(agent.home_name for agent in self.here)
        return Owner(name, self.folders.get(of_workspace or name))

    def _agent_of_session(self, decision):
        """The name of the agent here that has the session of a decision; empty: none has."""
        keys = [key for key in (decision.original_key, decision.session_key) if key]
        found = (agent.home_name for agent in self.here if _has_session(self.agents[agent.home_name], keys))
        return next(found, "")


def _has_session(agent, keys):
    return bool(keys and turn_matching.find_session_ids(agent.db, agent.agent_id, keys))


def _paths(agent):
    """A workspace as the configuration writes it, as the newest report names it, and where it is read."""
    found = (agent.written, agent.reported, agent.configured, agent.workspace)
    return {_plain(path) for path in found if path}


def _plain(path):
    return str(path).rstrip("/")
