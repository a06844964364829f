"""Whether the store holds what was noted of a session while its source is read, and what to note of older ones."""

from collections.abc import Iterable

from agents import holdings
from agents.models import Agent
from ledger.models import RemovedSession, Session
from ledger.transcripts import counting


def is_short(agent: Agent, session_id: str) -> bool:
    """Whether the store has fewer records of a session than were noted: then reading on would hide the loss."""
    noted = holdings.count_of(agent.agent_id, session_id)
    if not noted:
        return False
    rows = Session.objects.using(agent.db).filter(id=session_id)
    return (rows.values_list("record_count", flat=True).first() or 0) < noted


def count_again(agent: Agent, session_ids: Iterable[str]) -> None:
    """Note what sessions hold that an older version stored, now that their sources were read from the start."""
    for session_id in sorted(session_ids):
        counts = counting.count_again(agent.db, session_id)
        holdings.note(agent.agent_id, session_id, counts)


def note_removed(agent: Agent) -> None:
    """Note removed sessions that are not noted yet: whoever removed them was broken off, or was an older version."""
    removed = dict(RemovedSession.objects.using(agent.db).values_list("session_id", "why"))
    known = holdings.removed(agent.agent_id) if removed else {}
    for session_id in sorted(removed.keys() - known.keys()):
        holdings.note_removed(agent.agent_id, [session_id], removed[session_id])
