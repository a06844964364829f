"""What gates and memory files of all agents need: asked of a file again when it changed, and sometimes in any case."""

from collections.abc import Iterator
from typing import NamedTuple

from django.db import DatabaseError, connections
from django.utils.translation import get_language

from agents import databases
from agents.models import Agent
from gate.statistics import attention
from gate.statistics.attention import Notice
from guardian import attention as of_writes
from openclaw_web import clock

AGAIN_MS = 30_000  # after a change
OLDEST_MS = 10 * 60_000  # what is said of the last 24 hours changes by itself


class _Look(NamedTuple):
    """What was found in a file, in the state it was in then."""

    state: tuple[int, ...]
    at: int
    notices: list[Notice]

    def still_counts(self, state):
        is_same = state == self.state
        return clock.is_recent(self.at, AGAIN_MS) or (is_same and clock.is_recent(self.at, OLDEST_MS))


_known: dict[tuple[str, str], _Look] = {}


def notices() -> Iterator[tuple[str, Notice]]:
    """Agents, and what to say about their gates and writes. Files that cannot be read are somebody else's to tell."""
    for agent in Agent.objects.select_related("database").order_by("agent_id"):
        try:
            yield from ((agent.agent_id, notice) for notice in _of(agent))
        except (databases.OldAgentFile, DatabaseError):
            continue


def _of(agent):
    state = _state(agent.agent_id)
    if state is None:  # not a file on this disk: what is lost is told elsewhere
        return _found(agent) if f"agent_{agent.agent_id}" in connections else []
    key = (agent.agent_id, get_language() or "")
    known = _known.get(key)
    if known is None or not known.still_counts(state):
        known = _known[key] = _Look(state, clock.now_ms(), _found(agent))
    return known.notices


def _found(agent):
    return [*attention.notices(agent.db), *of_writes.notices(agent)]


def _state(agent_id):
    """Of what one can see that a file was written to; None when there is none."""
    file = databases.path(agent_id)
    found: tuple[int, ...] = ()
    for one in (file, file.with_name(f"{file.name}-wal")):
        try:
            about = one.stat()
        except FileNotFoundError:
            continue
        found = (*found, about.st_ino, about.st_size, about.st_mtime_ns)
    return found or None
