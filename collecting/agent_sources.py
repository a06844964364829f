"""Opens all sources of an agent's sessions for a repeated import.

Sources are files, the agent's database and the archives in it.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any

from django.utils.translation import gettext as _

from agents.homes import NotReadable, open_regular, stat_regular
from agents.models import CollectorSource
from ledger.collectors import agent_database, jsonl, zstd_input
from ledger.collectors.agent_database import COLD, Archive
from ledger.collectors.database import Database
from ledger.collectors.database_tables import AGENT
from ledger.collectors.session_index import IndexEntry
from ledger.models import Session
from ledger.rebuild.reimport import SessionSource
from ledger.transcripts.transcript_store import Transcript

from .inventory.indexes import find_index_path
from .inventory.transcripts import TranscriptFile, find_transcripts
from .stages import consent, source_databases
from .stages.agent_database import find_read_reason, open_archive
from .stages.source_databases import UnreadableDatabase
from .stages.transcripts import modified_ms

Kind = CollectorSource.Kind
LIVE = Session.State.LIVE
END = 2**63 - 1  # past every offset


@dataclass(slots=True)
class AgentSources:
    """The sources of an agent's sessions, in the order of an import."""

    parts: dict[str, list[SessionSource]] = field(default_factory=lambda: defaultdict(list))
    entries: dict[str, IndexEntry] = field(default_factory=dict)
    files: list[TranscriptFile] = field(default_factory=list)
    # Session -> files that an earlier import stored as its transcripts, but that belong to another session.
    moved: dict[str, list[TranscriptFile]] = field(default_factory=lambda: defaultdict(list))
    # With `is_read_part`: sessions with a source that was rewritten since, and those whose index entry is not read yet.
    rewritten: set[str] = field(default_factory=set)
    reindexed: set[str] = field(default_factory=set)
    is_read_part: bool = False  # of each source only what was read before

    def with_moved(self, ids: list[str]) -> list[str]:
        """These sessions, and those that share a file with them: records move between them."""
        chosen = dict.fromkeys(ids)
        for old, files in self.moved.items():
            if old in chosen or any(file.session_id in chosen for file in files):
                chosen |= dict.fromkeys([old, *(file.session_id for file in files)])
        return list(chosen)


@contextmanager
def open_sources(
    collection: Any, home_agent: Any, report: Any, stored: Any, *, is_read_part: bool = False
) -> Iterator[AgentSources]:
    """Open the sources of an agent; `stored` are ids of stored and lost sessions.

    With `is_read_part` they end where an import has stopped reading. Raises DamagedDatabase and UnreadableDatabase.
    """
    sources = AgentSources(is_read_part=is_read_part)
    with ExitStack() as stack:
        for part in home_agent.parts:
            database = _open_database(collection, part, report, stack)
            names: set[str] = set()
            is_known = database is None or source_databases.is_known(collection, part.database)
            if database is not None:
                _add_index(database, sources, is_known=is_known)
                names = _add_archives(collection, part, database, sources, stored)
            _add_entries(collection, part, report, sources)
            files = find_transcripts(collection, part, sources.entries.values())
            sources.files += files
            _add_files(collection, files, sources, stored, names)
            in_database = _add_events(collection, part, database, sources, is_known) if database is not None else set()
            _add_leftovers(collection, files, sources, stored, in_database)
        yield sources


def _open_database(collection, part, report, stack) -> Database | None:
    if part.database is None:
        return None
    try:
        database = stack.enter_context(source_databases.open_copy(collection, part.database, AGENT))
    except UnreadableDatabase as exc:
        note_unread(report, part.database, exc)
        return None
    return database


def note_unread(report: Any, path: Any, exc: Exception) -> None:
    """Note in the report that a database could not be read."""
    words = {"file": path.name, "reason": source_databases.describe_failure(exc)}
    report.notes.append(_("%(file)s was not read: %(reason)s.") % words)


def _add_index(database, sources, *, is_known):
    sources.entries.update((entry.session_id, entry) for entry in agent_database.read_index(database).entries)
    sources.reindexed |= set() if is_known else sources.entries.keys()
    for archive in agent_database.read_archives(database):
        entry = agent_database.build_archived_entry(archive)
        if entry is not None:
            sources.entries.setdefault(entry.session_id, entry)


def _add_entries(collection, part, report, sources):
    path = find_index_path(part)
    if path is None:
        return
    stat, agent = stat_regular(path), collection.agents.get(part.home_name)
    owner = agent.agent_id if agent else ""
    is_known = stat is not None and collection.book.is_known(Kind.SESSION_INDEX, path, stat, agent_id=owner)
    for entry in consent.read_entries(collection, part, report, []):
        sources.entries.setdefault(entry.session_id, entry)
        sources.reindexed |= set() if is_known else {entry.session_id}


def build_transcript(collection: Any, session_id: str, file: str, modified_ms: int, state: str) -> Transcript:
    """Build the transcript of a source, for the store."""
    return Transcript(session_id, file, modified_ms, state, collection.opted_out)


def _add_archives(collection, part, database, sources, stored):
    """Add the archives of the database.

    They are read with --include-deleted, or when they were read before.
    """
    names, prefix = set(), collection.book.name(part.database)
    live = {session.session_id for session in agent_database.read_session_counts(database)}
    for archive in agent_database.read_archives(database):
        names.add(archive.name)
        name = f"{prefix}!{archive.session_id}/{archive.generation}"
        if sources.is_read_part and collection.book.part(name) is None:
            continue
        is_orphan = archive.session_id in stored and archive.session_id not in live  # the only source that is left
        if not (collection.include_deleted or collection.book.part(name) or is_orphan):
            continue
        state = LIVE if archive.session_id in live or archive.reason == COLD else archive.reason
        transcript = build_transcript(collection, archive.session_id, name, archive.created_at or 0, state)
        sources.parts[archive.session_id].append(
            SessionSource(transcript, partial(_open_archived_lines, collection, part, database, archive))
        )
    return names


@contextmanager
def _open_archived_lines(collection, part, database, archive: Archive):
    try:
        file = open_archive(collection.home.root, part.database, database, archive)
    except NotReadable:  # records without a source stay unchanged
        yield iter(())
        return
    with file:
        yield agent_database.read_archived_lines(archive, file)


def _add_files(collection, files, sources, stored, names):
    files = [file for file in files if not file.is_imported]
    live = {file.session_id for file in files if file.state == LIVE}
    for file in files:
        if file.path.name in names:  # the database has the same records
            continue
        is_left_out = file.state != LIVE and not collection.include_deleted
        was_read = collection.book.offset(Kind.TRANSCRIPT, file.path) > 0
        if not is_left_out or was_read or (file.session_id in stored and file.session_id not in live):
            _add_file(collection, file, sources)
        previous_id = collection.book.find_session(file.path)
        if previous_id and previous_id != file.session_id:
            sources.moved[previous_id].append(file)


def build_file_part(collection: Any, file: TranscriptFile, end: int = END) -> SessionSource:
    """Build the source of a session from the lines of a transcript file that begin before `end`."""
    modified = modified_ms(file.stat.st_mtime_ns)
    transcript = build_transcript(collection, file.session_id, collection.book.name(file.path), modified, file.state)
    return SessionSource(transcript, partial(_open_lines, collection, file, end))


@contextmanager
def _open_lines(collection, file, end):
    with _open_file(collection, file.path) as opened:
        if opened is None:
            yield iter(())
        elif file.is_packed:
            yield zstd_input.read_packed_lines(opened)
        else:
            yield _take_before(jsonl.read_lines(opened, is_closed=file.state != LIVE), end)


def _take_before(lines, end):
    return takewhile(lambda line: line.offset < end, lines)


@contextmanager
def _open_file(collection, path):
    """Open a file; None when it is missing or unreadable, so that its records stay unchanged."""
    try:
        file = open_regular(collection.home.root, path)
    except NotReadable:
        yield None
        return
    with file:
        yield file


def _add_events(collection, part, database, sources, is_known):
    prefix, stat = collection.book.name(part.database), stat_regular(part.database)
    modified = modified_ms(stat.st_mtime_ns if stat else 0)
    ids = set()
    generations = agent_database.read_generations(database) if not is_known and sources.is_read_part else {}
    for session in agent_database.read_session_counts(database):
        if session.session_id:
            ids.add(session.session_id)
            name = f"{prefix}#{session.session_id}"
            read = collection.book.part(name)
            if sources.is_read_part and read is None:
                continue
            end = read.end if sources.is_read_part else END
            if sources.is_read_part and not is_known:
                mark = generations.get(session.session_id) or agent_database.hash_prefix(
                    database, session.session_id, end
                )
                if find_read_reason(read, session, mark) not in ("appended", "unchanged"):
                    sources.rewritten.add(session.session_id)
                    continue
            transcript = build_transcript(collection, session.session_id, name, modified, LIVE)
            sources.parts[session.session_id].append(
                SessionSource(transcript, partial(_open_event_lines, database, session.session_id, end))
            )
    return ids


@contextmanager
def _open_event_lines(database, session_id, end):
    yield _take_before(agent_database.read_events(database, session_id), end)


def _add_leftovers(collection, files, sources, stored, in_database):
    for file in files:
        is_known = file.session_id in stored or collection.book.offset(Kind.TRANSCRIPT, file.path) > 0
        is_wanted = file.is_imported and file.session_id not in in_database
        if is_wanted and (collection.include_deleted or is_known):
            _add_file(collection, file, sources)


def _add_file(collection, file, sources):
    end = _find_read_end(collection, file) if sources.is_read_part else END
    if end is None:
        sources.rewritten.add(file.session_id)
    elif end:
        sources.parts[file.session_id].append(build_file_part(collection, file, end))


def _find_read_end(collection, file) -> int | None:
    """How far a file was read; None when it was rewritten since, or cannot be read.

    A file of a deleted session may have been read under its first name.
    """
    book = collection.book
    offset = book.offset(Kind.TRANSCRIPT, file.path)
    if file.is_packed:
        is_known = book.is_known(Kind.TRANSCRIPT, file.path, file.stat)
        return END if is_known else None if offset else 0
    if not offset:
        folder = file.path.parent.parent / "sessions"
        names = {file.path.name.partition(".jsonl")[0], file.session_id} if file.state != LIVE else ()
        paths = (folder / f"{name}.jsonl" for name in names)  # another session may have this file name now
        own = (path for path in paths if book.find_session(path) == file.session_id)
        return max((book.offset(Kind.TRANSCRIPT, path) for path in own), default=0)
    try:
        with open_regular(collection.home.root, file.path) as opened:
            position = book.find_resume_position(Kind.TRANSCRIPT, file.path, opened)
    except NotReadable:
        return None
    return position.offset if position else None
