"""Skips transcripts of sessions that were removed by age, unless they have new records."""

from collections.abc import Callable
from typing import Any

from agents.homes import NotReadable, open_regular
from agents.models import CollectorSource
from agents.sources import DatabasePart
from ledger.collectors import agent_database

TRANSCRIPT = CollectorSource.Kind.TRANSCRIPT


def exclude_removed(removed: set[str], may_read: Callable[[str], bool]) -> Callable[[str], bool]:
    """Wrap `may_read` to exclude the sessions that are in `removed` at the time of the call."""
    return lambda session_id: session_id not in removed and may_read(session_id)


def filter_files(collection: Any, agent: Any, plan: Any, removed: set[str], report: Any) -> list[Any]:
    """The planned transcripts to read, without those of removed sessions.

    A transcript with new records is read from its start, and its session is taken out of `removed`; the others of
    removed sessions are noted as read. `transcripts.Transcripts` handles files that were never opened.
    """
    files = plan.to_read
    for file in files:
        if _is_removed(file, removed) and _has_new_records(collection, file):
            collection.book.forget_part(collection.book.name(file.path))
            removed.discard(file.session_id)
    for file in files:
        if _is_removed(file, removed):
            report.transcripts["removed"] += 1
            collection.add_bytes(file.stat.st_size)
            owner = {"agent_id": agent.agent_id, "session_id": file.session_id}
            collection.book.save(TRANSCRIPT, file.path, file.stat, offset=file.stat.st_size, **owner)
    return [file for file in files if not _is_removed(file, removed)]


def _is_removed(file, removed):
    return file.is_certain and file.session_id in removed


def filter_transcripts(source: Any, removed: set[str]) -> None:
    """The same for the transcripts in an agent's open database."""
    with source.reading() as database:
        for session in agent_database.read_session_counts(database) if database and removed else ():
            if session.session_id in removed:
                _filter_session(source, session, removed)


def _filter_session(source, session, removed):
    book, name = source.collection.book, source.prefix + session.session_id
    part = book.part(name)
    if part and session.last_seq + 1 > part.end:
        book.forget_part(name)
        removed.discard(session.session_id)
        return
    source.report.transcripts["removed"] += 1
    if part is None:
        book.save_part(name, DatabasePart(session.last_seq + 1, session.count, ""), agent_id=source.agent.agent_id)


def _has_new_records(collection, file):
    """Whether a transcript has new records since it was read, also after a rewrite."""
    offset = collection.book.offset(TRANSCRIPT, file.path)
    if file.is_packed or not offset:
        return False
    try:
        with open_regular(collection.home.root, file.path) as opened:
            why = collection.book.find_position(TRANSCRIPT, file.path, opened).why
            return why == "appended" or (why == "replaced" and file.stat.st_size > offset)
    except NotReadable:
        return False
