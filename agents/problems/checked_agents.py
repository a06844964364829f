"""The agents as checks for problems need them: with what changes when their file does."""

from dataclasses import dataclass

from django.db import connections

from openclaw_web.sqlite import inspection

from .. import databases
from ..models import Agent


@dataclass(slots=True)
class CheckedAgent:
    """An agent, and what of its file shows from outside that it was written to (empty: nothing on this disk does)."""

    agent: Agent
    state: str
    changed_at: int = 0  # in nanoseconds
    opened_version: int = 0

    @property
    def name(self) -> str:
        """The id of the agent."""
        return self.agent.agent_id

    def have_rows(self, places: list[str]) -> list[bool] | None:
        """Whether its file, which stays as it is, has a row in each of some places; None when it cannot be asked."""
        return inspection.have_rows(databases.get_path(self.name), places) if self.state else None

    def open(self) -> tuple[Agent, str]:
        """The agent with the alias of its file. Raises OldAgentFile for one that cannot be used."""
        db = self.agent.db
        self.opened_version = inspection.read_data_version(db)
        return self.agent, db

    def close(self) -> str:
        """Close the file, as with hundreds of agents too many would stay open; its state from now on.

        To open a file and to close it changes it. Empty when somebody else wrote to it meanwhile.
        """
        db = self.agent.db
        is_same = inspection.read_data_version(db) == self.opened_version
        if not connections[db].in_atomic_block:
            connections[db].close()
        return _look(self.name)[0] if is_same else ""


def list_checked_agents() -> list[CheckedAgent]:
    """Every agent."""
    return [CheckedAgent(agent, *_look(agent.agent_id)) for agent in Agent.objects.order_by("agent_id")]


def _look(agent_id):
    """The state of an agent's file and its log, and when they were written to."""
    file = databases.get_path(agent_id)
    seen, changed_at = [], 0
    for one in (file, file.with_name(f"{file.name}-wal")):
        try:
            about = one.stat()
        except OSError:
            continue
        if about.st_size:  # an empty log comes and goes with whoever reads
            seen.append(f"{about.st_ino} {about.st_size} {about.st_mtime_ns}")
            changed_at = max(changed_at, about.st_mtime_ns)
    return " ".join(seen), changed_at
