"""Checks whether an agent's file exists and has the noted records.

Pages report its problems wherever the file might be taken for complete.
"""

from pathlib import Path
from typing import NamedTuple

from django.utils.translation import gettext as _

from openclaw_web import amounts, clock
from openclaw_web.sqlite import inspection

from . import databases
from .models import Agent, AgentDatabase

AGAIN_MS = 5_000
SHOWN = 5


class Loss(NamedTuple):
    """Records that an agent's file lacks.

    `held` of the noted records are there; None: the file is missing.
    """

    held: int | None
    noted: int


def find_loss(agent: Agent) -> Loss | None:
    """Return the records that an agent's file lacks; None when it is complete.

    Pages may call this every time: the file is opened when it is another one, or has changed, every five seconds at
    most.
    """
    noted = _get_noted_count(agent)  # read first, as records are stored before they are noted
    file = databases.get_path(agent.agent_id)
    try:
        stat, log = file.stat(), file.with_name(f"{file.name}-wal")
        written = log.stat() if log.exists() else stat
        state = (stat.st_ino, stat.st_mtime_ns, written.st_size, written.st_mtime_ns)
        known = _known.get(file)
        if known is None or (known.state != state and not known.still_counts(state, noted)):
            known = _known[file] = _FileCheck(state, inspection.read_record_count(file), clock.now_ms())
        record_count = known.records
    except FileNotFoundError:
        return Loss(None, noted) if databases.is_on_disk(agent.agent_id) else None
    except PermissionError:  # its pages say so
        return None
    return None if record_count is None or record_count >= noted else Loss(record_count, noted)


def describe_loss(agent_id: str, loss: Loss) -> str:
    """Say which records an agent's file lacks."""
    if loss.held is None:
        return databases.describe_missing(agent_id, loss.noted)
    words = {"agent": agent_id, "noted": amounts.format_amount("records", loss.noted), "held": f"{loss.held:,}"}
    return _("The database of agent %(agent)s contains only %(held)s of %(noted)s stored before.") % words


def problem_of(agent: Agent) -> str:
    """Say the problem of an agent's file, and how to recover it; empty without a problem."""
    loss = find_loss(agent)
    return f"{describe_loss(agent.agent_id, loss)} {databases.describe_recovery(agent.agent_id)}" if loss else ""


def find_problems() -> dict[str, str]:
    """Return by agent the problem of its file, for agents with a problem."""
    agents = Agent.objects.select_related("database").order_by("agent_id")
    problem_by_agent = ((agent.agent_id, problem_of(agent)) for agent in agents)
    return {agent_id: sentence for agent_id, sentence in problem_by_agent if sentence}


def describe_problems() -> list[str]:
    """Return sentences about problems of agents' files: the first few, and a count of others."""
    sentences = list(find_problems().values())
    rest = len(sentences) - SHOWN
    if rest <= 0:
        return sentences
    more = _("Also affected: the databases of %(agents)s.") % {"agents": amounts.format_amount("agents", rest)}
    return [*sentences[:SHOWN], more]


def _get_noted_count(agent):
    try:
        return agent.database.record_count
    except AgentDatabase.DoesNotExist:  # the doctor reports this
        return 0


class _FileCheck(NamedTuple):
    """The records of a file when it was last opened, and its state then."""

    state: tuple[int, ...]
    records: int | None
    at: int

    def still_counts(self, state: tuple[int, ...], noted: int) -> bool:
        """Return whether it is the same file, had enough records, and was opened recently."""
        is_enough = self.records is not None and self.records >= noted
        return is_enough and self.state[0] == state[0] and clock.is_recent(self.at, AGAIN_MS)


_known: dict[Path, _FileCheck] = {}
