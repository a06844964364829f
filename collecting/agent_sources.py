"""Opens all sources of an agent's sessions for a repeated import.

Sources are files, the agent's database and the archives in it.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
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
from .stages.agent_database import open_archive
from .stages.source_databases import UnreadableDatabase
from .stages.transcripts import modified_ms

Kind = CollectorSource.Kind
LIVE = Session.State.LIVE


@dataclass(slots=True)
class AgentSources:
    """The sources of an agent's sessions, in the order of an import."""

    parts: dict[str, list[SessionSource]] = field(default_factory=lambda: defaultdict(list))
    entries: dict[str, IndexEntry] = field(default_factory=dict)
    files: list[TranscriptFile] = field(default_factory=list)
    # Session -> files that an earlier import stored as its transcripts, but that belong to another session.
    moved: dict[str, list[TranscriptFile]] = field(default_factory=lambda: defaultdict(list))

    def with_moved(self, ids: list[str]) -> list[str]:
        """These sessions, and those that share a file with them: records move between them."""
        chosen = dict.fromkeys(ids)
        for old, files in self.moved.items():
            if old in chosen or any(file.session_id in chosen for file in files):
                chosen |= dict.fromkeys([old, *(file.session_id for file in files)])
        return list(chosen)


@contextmanager
def open_sources(collection: Any, home_agent: Any, report: Any, stored: Any) -> Iterator[AgentSources]:
    """Open the sources of an agent; `stored` are ids of stored and lost sessions.

    Raises DamagedDatabase and UnreadableDatabase.
    """
    sources = AgentSources()
    with ExitStack() as stack:
        for part in home_agent.parts:
            _add_part(collection, part, report, stored, sources, stack)
        yield sources


def _add_part(collection, part, report, stored, sources, stack):
    """Add the sources of an agent in one of its folders and one of its databases."""
    database = _open_database(collection, part, report, stack)
    names: set[str] = set()
    if database is not None:
        _add_index(database, sources)
        names = _add_archives(collection, part, database, sources, stored)
    _add_entries(collection, part, report, sources)
    files = find_transcripts(collection, part, sources.entries.values())
    sources.files += files
    _add_files(collection, files, sources, stored, names)
    in_database = _add_events(collection, part, database, sources) if database is not None else set()
    _add_leftovers(collection, files, sources, stored, in_database)


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


def _add_index(database, sources):
    sources.entries.update((entry.session_id, entry) for entry in agent_database.read_index(database).entries)
    for archive in agent_database.read_archives(database):
        entry = agent_database.build_archived_entry(archive)
        if entry is not None:
            sources.entries.setdefault(entry.session_id, entry)


def _add_entries(collection, part, report, sources):
    if find_index_path(part) is not None:
        for entry in consent.read_entries(collection, part, report, []):
            sources.entries.setdefault(entry.session_id, entry)


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
        if not (collection.include_deleted or collection.book.part(name) or _is_orphan(archive, live, stored)):
            continue
        state = LIVE if archive.session_id in live or archive.reason == COLD else archive.reason
        transcript = build_transcript(collection, archive.session_id, name, archive.created_at or 0, state)
        sources.parts[archive.session_id].append(
            SessionSource(transcript, partial(_open_archived_lines, collection, part, database, archive))
        )
    return names


def _is_orphan(archive, live, stored):
    """Whether a stored session has no other source left than this archive."""
    return archive.session_id in stored and archive.session_id not in live


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
            sources.parts[file.session_id].append(build_file_part(collection, file))
        previous_id = collection.book.find_session(file.path)
        if previous_id and previous_id != file.session_id:
            sources.moved[previous_id].append(file)


def build_file_part(collection: Any, file: TranscriptFile) -> SessionSource:
    """Build the source of a session from a transcript file."""
    modified = modified_ms(file.stat.st_mtime_ns)
    transcript = build_transcript(collection, file.session_id, collection.book.name(file.path), modified, file.state)
    return SessionSource(transcript, partial(_open_lines, collection, file))


@contextmanager
def _open_lines(collection, file):
    with _open_file(collection, file.path) as opened:
        if opened is None:
            yield iter(())
        elif file.is_packed:
            yield zstd_input.read_packed_lines(opened)
        else:
            yield jsonl.read_lines(opened, is_closed=file.state != LIVE or file.is_packed)


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


def _add_events(collection, part, database, sources):
    prefix, stat = collection.book.name(part.database), stat_regular(part.database)
    modified = modified_ms(stat.st_mtime_ns if stat else 0)
    ids = set()
    for session in agent_database.read_session_counts(database):
        if session.session_id:
            ids.add(session.session_id)
            name = f"{prefix}#{session.session_id}"
            transcript = build_transcript(collection, session.session_id, name, modified, LIVE)
            sources.parts[session.session_id].append(
                SessionSource(transcript, partial(_open_event_lines, database, session.session_id))
            )
    return ids


@contextmanager
def _open_event_lines(database, session_id):
    yield agent_database.read_events(database, session_id)


def _add_leftovers(collection, files, sources, stored, in_database):
    for file in files:
        is_known = file.session_id in stored or collection.book.offset(Kind.TRANSCRIPT, file.path) > 0
        is_wanted = file.is_imported and file.session_id not in in_database
        if is_wanted and (collection.include_deleted or is_known):
            sources.parts[file.session_id].append(build_file_part(collection, file))
