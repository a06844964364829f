"""Sessions that were removed because of their age: their transcripts are passed over, unless they went on since."""

from collections.abc import Callable
from typing import Any

from agents.homes import NotReadable, open_regular
from agents.models import CollectorSource
from agents.sources import DatabasePart
from ledger.collectors import agent_database

TRANSCRIPT = CollectorSource.Kind.TRANSCRIPT


def exclude_removed(removed: set[str], may_read: Callable[[str], bool]) -> Callable[[str], bool]:
    """`may_read` without the sessions that are in `removed` when it is asked."""
    return lambda session_id: session_id not in removed and may_read(session_id)


def filter_files(collection: Any, agent: Any, plan: Any, removed: set[str], report: Any) -> list[Any]:
    """Those of the planned transcripts that are to be read. One that went on is read from its start, and its session
    taken out of `removed`; the others of removed sessions are noted as read.

    Whose a file is that nobody has opened yet is seen later, by `transcripts.Transcripts`.
    """
    files = plan.to_read
    for file in files:
        if _is_of(file, removed) and _went_on(collection, file):
            collection.book.forget_part(collection.book.name(file.path))
            removed.discard(file.session_id)
    for file in files:
        if _is_of(file, removed):
            report.transcripts["removed"] += 1
            collection.add_bytes(file.stat.st_size)
            about = {"agent_id": agent.agent_id, "session_id": file.session_id}
            collection.book.save(TRANSCRIPT, file.path, file.stat, offset=file.stat.st_size, **about)
    return [file for file in files if not _is_of(file, removed)]


def _is_of(file, removed):
    return file.is_certain and file.session_id in removed


def filter_transcripts(source: Any, removed: set[str]) -> None:
    """The same for the transcripts in an agent's opened database."""
    with source.reading() as database:
        for one in agent_database.read_session_counts(database) if database and removed else ():
            if one.session_id in removed:
                _transcript(source, one, removed)


def _transcript(source, one, removed):
    book, name = source.collection.book, source.prefix + one.session_id
    part = book.part(name)
    if part and one.last_seq + 1 > part.end:
        book.forget_part(name)
        removed.discard(one.session_id)
        return
    source.report.transcripts["removed"] += 1
    if part is None:
        book.save_part(name, DatabasePart(one.last_seq + 1, one.count, ""), agent_id=source.agent.agent_id)


def _went_on(collection, file):
    """Whether there is more in a transcript than when it was read last, also when it was written anew."""
    offset = collection.book.offset(TRANSCRIPT, file.path)
    if file.is_packed or not offset:
        return False
    try:
        with open_regular(collection.home.root, file.path) as opened:
            why = collection.book.reading(TRANSCRIPT, file.path, opened).why
            return why == "appended" or (why == "replaced" and file.stat.st_size > offset)
    except NotReadable:
        return False
