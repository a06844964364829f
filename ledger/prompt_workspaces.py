"""The workspace of an agent's newest prompt, as reports in OpenClaw's session indexes name it."""

from collections.abc import Iterable

from agents.database_copies import Copies, NotCopied
from agents.homes import Home, HomeAgent, NotReadable, normalise_or_empty, open_regular
from agents.models import Agent
from openclaw_web.clock import now_ms

from .collectors import agent_database, session_index
from .collectors.database import DamagedDatabase, Database
from .collectors.database_tables import AGENT
from .collectors.session_index import IndexEntry

# Parts of the keys of sessions in which no person speaks: their folder says nothing about the agent's own.
MACHINES = frozenset({"cron", "subagent", "hook", "acp", "heartbeat", "boot"})
MAX_INDEX_BYTES = 64 * 1024 * 1024


def store_newest(agent: Agent, home_name: str, entries: Iterable[IndexEntry]) -> None:
    """Store the workspace of the newest report, when it is newer than the stored one."""
    at, folder = find_newest(home_name, entries)
    if folder and at > (agent.workspace_reported_at or 0):
        _save(agent, at, folder)


def store_none(agent: Agent) -> None:
    """Store that no report names a workspace, when the indexes were read and none does."""
    if agent.workspace_reported_at is None:
        _save(agent, 0, "")


def find_newest(home_name: str, entries: Iterable[IndexEntry]) -> tuple[int, str]:
    """When the newest prompt of an agent was made (ms), and in which workspace.

    Sessions of persons have precedence; where none has a report, all sessions count.
    (0, "") when no report says so. A time later than now counts as now, so that a wrong clock does not win for ever.
    """
    own_entries = [entry for entry in entries if entry.workspace and _is_own(home_name, entry.session_key)]
    persons = [entry for entry in own_entries if MACHINES.isdisjoint(entry.session_key.split(":"))]
    last = max(persons or own_entries, key=lambda entry: entry.workspace_at, default=None)
    return (max(1, min(last.workspace_at, now_ms())), last.workspace) if last else (0, "")


def read_newest(home: Home, home_agent: HomeAgent, copies: Copies) -> tuple[int, str]:
    """The newest workspace from the indexes of an agent as they are now."""
    return find_newest(home_agent.home_name, read_entries(home, home_agent, copies))


def read_entries(home: Home, home_agent: HomeAgent, copies: Copies) -> list[IndexEntry]:
    """The entries of the indexes of an agent as they are now.

    Indexes that cannot be read are passed over.
    """
    entries: list[IndexEntry] = []
    for database in home_agent.databases:
        try:
            with copies.open_copy(home.root, database) as copy, Database(copy.path, AGENT) as opened:
                entries += agent_database.read_index(opened).entries
                archives = map(agent_database.build_archived_entry, agent_database.read_archives(opened))
                named = {entry.session_id for entry in entries}
                entries += [entry for entry in archives if entry is not None and entry.session_id not in named]
        except (DamagedDatabase, NotReadable, NotCopied):
            continue
    for folder in home_agent.session_folders:
        index = home_agent.index if home_agent.index and home_agent.index.parent == folder else folder / "sessions.json"
        try:
            with open_regular(home.root, index) as file:
                entries += session_index.read(file.read(MAX_INDEX_BYTES))
        except (NotReadable, ValueError):
            continue
    return entries


def _is_own(home_name, key):
    """Whether a session is the agent's own: an index may be shared, and name others' sessions."""
    parts = key.split(":", 2)
    return parts[0] != "agent" or len(parts) < 3 or normalise_or_empty(parts[1]) == normalise_or_empty(home_name)


def _save(agent, at, folder):
    agent.workspace_reported_at, agent.reported_workspace = at, folder
    Agent.objects.filter(agent_id=agent.agent_id).update(workspace_reported_at=at, reported_workspace=folder)
