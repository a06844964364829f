"""Compares stored sessions with the noted counts during an import, and notes new counts."""

from collections.abc import Collection, Iterable

from agents import holdings
from agents.holdings import Holding
from agents.models import Agent
from ledger.models import RemovedSession, Session
from ledger.rebuild.reimport import ReimportResult
from ledger.transcripts import session_holdings


def is_missing_records(agent: Agent, session_id: str, mended: Collection[str] = ()) -> bool:
    """Whether a session lost records: reading further would hide the loss or count twice.

    Records that `mended` sessions lack are in no source: of these only the rows and their own counts have to agree.
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
    """The sessions that are stored or should be; `is_missing_records` is false for all others."""
    rows = Session.objects.using(agent.db).filter(record_count__gt=0)
    return holdings.find_noted_sessions(agent.agent_id) | set(rows.values_list("id", flat=True))


def note_rebuilt(agent: Agent, session_id: str, result: ReimportResult) -> None:
    """Note the counts of a session that was rebuilt from its sources.

    Records that were noted before and are in no source stay noted. A record that has another kind now, such as
    withheld, does not count as missing under its former kind.
    """
    noted = holdings.read_holding(agent.agent_id, session_id)
    expected = Holding(noted.kinds - result.moved, "" if result.moved else noted.checksum)
    for (old_kind, new_kind), number in result.kind_changes.items():
        moved = min(number, expected.kinds[old_kind])
        expected.kinds[old_kind] -= moved
        expected.kinds[new_kind] += moved
    is_whole = result.held.is_same_records(noted) or not result.held.lacks(expected)
    kinds = expected.kinds | result.held.kinds
    lacking = Holding(kinds, expected.checksum if kinds == +expected.kinds else "")
    holdings.note_holding(agent.agent_id, session_id, result.held if is_whole else lacking, anew=True)


def count_again(agent: Agent, session_ids: Iterable[str]) -> None:
    """Note the counts of sessions without a note, after all their sources were read."""
    for session_id in sorted(session_ids):
        counts = session_holdings.recount_holding(agent.db, session_id)
        holdings.note_holding(agent.agent_id, session_id, counts)


def note_removed(agent: Agent) -> None:
    """Note removed sessions without a note: their removal was interrupted."""
    removed = dict(RemovedSession.objects.using(agent.db).values_list("session_id", "why"))
    known = holdings.read_removed(agent.agent_id) if removed else {}
    for session_id in sorted(removed.keys() - known.keys()):
        holdings.note_removed(agent.agent_id, [session_id], removed[session_id])
