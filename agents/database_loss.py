"""Whether an agent's file is there and holds what was noted: said wherever somebody would take it for whole."""

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
    """Records that an agent's file lacks: it holds `held` (None: it is not there) of those that were noted."""

    held: int | None
    noted: int


def find_loss(agent: Agent) -> Loss | None:
    """The records that an agent's file lacks; None when nothing is missing.

    A page may ask every time: the file is opened when it is another one, or has changed, every five seconds at most.
    """
    noted = _noted(agent)  # first: records are stored before they are noted
    file = databases.get_path(agent.agent_id)
    try:
        held = _records(file, noted)
    except FileNotFoundError:
        return Loss(None, noted) if databases.is_on_disk(agent.agent_id) else None
    return None if held is None or held >= noted else Loss(held, noted)


def describe_loss(agent_id: str, loss: Loss) -> str:
    """Say what an agent's file lacks."""
    if loss.held is None:
        return databases.describe_missing(agent_id, loss.noted)
    words = {"agent": agent_id, "noted": amounts.format_amount("records", loss.noted), "held": f"{loss.held:,}"}
    return _("The database of agent %(agent)s contains only %(held)s of %(noted)s stored before.") % words


def problem_of(agent: Agent) -> str:
    """The problem of an agent's file, with the ways out, in sentences; empty when there is none."""
    loss = find_loss(agent)
    return f"{describe_loss(agent.agent_id, loss)} {databases.describe_recovery(agent.agent_id)}" if loss else ""


def find_problems() -> dict[str, str]:
    """Agent -> what is wrong with its file, of those with something wrong."""
    agents = Agent.objects.select_related("database").order_by("agent_id")
    told = ((agent.agent_id, problem_of(agent)) for agent in agents)
    return {agent_id: sentence for agent_id, sentence in told if sentence}


def describe_problems() -> list[str]:
    """What is wrong with the files of agents, in sentences for a page: the first few, and how many more there are."""
    sentences = list(find_problems().values())
    rest = len(sentences) - SHOWN
    if rest <= 0:
        return sentences
    more = _("Also affected: the databases of %(agents)s.") % {"agents": amounts.format_amount("agents", rest)}
    return [*sentences[:SHOWN], more]


def _noted(agent):
    try:
        return agent.database.record_count
    except AgentDatabase.DoesNotExist:  # the doctor says so
        return 0


def _records(file: Path, noted: int) -> int | None:
    about, log = file.stat(), file.with_name(f"{file.name}-wal")
    written = log.stat() if log.exists() else about
    state = (about.st_ino, about.st_mtime_ns, written.st_size, written.st_mtime_ns)
    known = _known.get(file)
    if known is None or (known.state != state and not known.still_counts(state, noted)):
        known = _known[file] = _Look(state, inspection.read_record_count(file), clock.now_ms())
    return known.records


class _Look(NamedTuple):
    """What a file held when it was opened last, and the state it was in."""

    state: tuple[int, ...]
    records: int | None
    at: int

    def still_counts(self, state: tuple[int, ...], noted: int) -> bool:
        """Whether it is the same file, had enough then, and that was not long ago."""
        is_enough = self.records is not None and self.records >= noted
        return is_enough and self.state[0] == state[0] and clock.is_recent(self.at, AGAIN_MS)


_known: dict[Path, _Look] = {}
