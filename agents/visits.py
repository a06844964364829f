"""Notes about the last import of each agent: the next one opens no file of an agent where nothing has changed since."""

from collections.abc import Iterable
from typing import Any

from people.models.bookkeeping import KeyValue

from . import databases
from .sources import get_file_state

SCOPE = "visits"


def find_unchanged(agent_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return what was noted of agents whose files nobody has written since, by agent."""
    noted = KeyValue.objects.filter(scope=SCOPE).decoded()
    return {name: noted[name] for name in agent_ids if name in noted and is_unchanged(name, noted[name])}


def is_unchanged(agent_id: str, visit: dict[str, Any]) -> bool:
    return bool(visit["file"]) and visit["file"] == read_state(agent_id)


def read_state(agent_id: str) -> list[int]:
    """Return numbers that differ after every change of an agent's file; none when it cannot be looked at."""
    file = databases.get_path(agent_id)
    state: list[int] = []
    try:
        state += get_file_state(file.stat())
        log = file.with_name(f"{file.name}-wal").stat()
    except FileNotFoundError:
        return state
    except OSError:
        return []
    return [*state, *get_file_state(log)] if log.st_size else state


def note_visits(visits: dict[str, dict[str, Any]]) -> None:
    for agent_id, visit in visits.items():
        KeyValue.objects.put(SCOPE, agent_id, visit)
