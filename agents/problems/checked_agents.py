"""Agents for checks for problems, with the state of their files."""

from dataclasses import dataclass

from django.db import connections

from openclaw_web.sqlite import inspection

from .. import databases
from ..models import Agent


@dataclass(slots=True)
class CheckedAgent:
    """An agent, and the state of its file, which changes when the file is written to.

    The state is empty when the file is not on this disk.
    """

    agent: Agent
    state: str
    changed_at: int = 0  # in nanoseconds
    opened_version: int = 0

    @property
    def name(self) -> str:
        """Return the id of the agent."""
        return self.agent.agent_id

    def have_rows(self, places: list[str]) -> list[bool] | None:
        """Return whether the file has a row in each of these places; None when unreadable.

        The file is not changed by this.
        """
        return inspection.have_rows(databases.get_path(self.name), places) if self.state else None

    def open(self) -> tuple[Agent, str]:
        """Return the agent and the alias of its file. Raises OldAgentFile."""
        db = self.agent.db
        self.opened_version = inspection.read_data_version(db)
        return self.agent, db

    def close(self) -> str:
        """Close the file, and return its state from now on.

        With hundreds of agents too many files would stay open. Opening and closing a file changes it. The state is
        empty when another process wrote to it meanwhile.
        """
        db = self.agent.db
        is_same = inspection.read_data_version(db) == self.opened_version
        if not connections[db].in_atomic_block:
            connections[db].close()
        return _read_state(self.name)[0] if is_same else ""


def list_checked_agents() -> list[CheckedAgent]:
    """Return all agents."""
    return [CheckedAgent(agent, *_read_state(agent.agent_id)) for agent in Agent.objects.order_by("agent_id")]


def _read_state(agent_id):
    """Return the state of an agent's file and its log, and when they were written to."""
    file = databases.get_path(agent_id)
    states, changed_at = [], 0
    for path in (file, file.with_name(f"{file.name}-wal")):
        try:
            stat = path.stat()
        except OSError:
            continue
        if stat.st_size:  # readers create and remove empty logs
            states.append(f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}")
            changed_at = max(changed_at, stat.st_mtime_ns)
    return " ".join(states), changed_at
