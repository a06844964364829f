"""Whether the store holds what was noted of a session while its source is read, and what to note of others."""

from collections.abc import Collection, Iterable

from agents import holdings
from agents.holdings import Holding
from agents.models import Agent
from ledger.models import RemovedSession, Session
from ledger.rebuild.reimport import ReimportResult
from ledger.transcripts import session_holdings


def is_missing_records(agent: Agent, session_id: str, mended: Collection[str] = ()) -> bool:
    """Whether records of a session are missing: then reading on would hide the loss, or count records twice.

    What `mended` sessions lack is in no source: of these only the rows and their own counts have to fit together.
    """
    noted, db = holdings.read_holding(agent.agent_id, session_id), agent.db
    session = Session.objects.using(db).filter(id=session_id).first()
    if not noted.count and (session is None or not session.record_count):
        return False
    rows = session_holdings.count_holding(db, session_id)
    if rows is None or session is None or rows.count != session.record_count:
        return True
    own = session_holdings.get_holding(session)
    is_damaged = own.kinds != rows.kinds or not own.has_same_ids(rows)
    return is_damaged or (session_id not in mended and rows.lacks(noted))


def find_stored_sessions(agent: Agent) -> set[str]:
    """The sessions that are here or have to be: of all others `is_short` is false."""
    rows = Session.objects.using(agent.db).filter(record_count__gt=0)
    return holdings.find_noted_sessions(agent.agent_id) | set(rows.values_list("id", flat=True))


def note_rebuilt(agent: Agent, session_id: str, came: ReimportResult) -> None:
    """Note what a session holds that was just made again from its sources.

    What it lacks of the records noted before is in no source any more, and stays noted. A record that is of another
    kind now, such as withheld, is not missed under the kind it was of.
    """
    noted = holdings.read_holding(agent.agent_id, session_id)
    wanted = Holding(noted.kinds - came.moved, "" if came.moved else noted.checksum)
    for (before, now), number in came.kind_changes.items():
        moved = min(number, wanted.kinds[before])
        wanted.kinds[before] -= moved
        wanted.kinds[now] += moved
    is_whole = came.held.is_same_records(noted) or not came.held.lacks(wanted)
    kinds = wanted.kinds | came.held.kinds
    lacking = Holding(kinds, wanted.checksum if kinds == +wanted.kinds else "")
    holdings.note_holding(agent.agent_id, session_id, came.held if is_whole else lacking, anew=True)


def count_again(agent: Agent, session_ids: Iterable[str]) -> None:
    """Note what sessions hold that nobody noted, now that all that there is of them was read."""
    for session_id in sorted(session_ids):
        counts = session_holdings.recount_holding(agent.db, session_id)
        holdings.note_holding(agent.agent_id, session_id, counts)


def note_removed(agent: Agent) -> None:
    """Note removed sessions that are not noted yet: whoever removed them was broken off."""
    removed = dict(RemovedSession.objects.using(agent.db).values_list("session_id", "why"))
    known = holdings.read_removed(agent.agent_id) if removed else {}
    for session_id in sorted(removed.keys() - known.keys()):
        holdings.note_removed(agent.agent_id, [session_id], removed[session_id])
