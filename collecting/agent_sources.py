"""Every source of every session of an agent, opened to be read again: files, its database and what that put away."""

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
    """Where the sessions of an agent come from, in the order in which a collect reads."""

    parts: dict[str, list[SessionSource]] = field(default_factory=lambda: defaultdict(list))
    entries: dict[str, IndexEntry] = field(default_factory=dict)
    files: list[TranscriptFile] = field(default_factory=list)
    # Session -> files that an earlier import stored as its transcripts, and that are another session's.
    moved: dict[str, list[TranscriptFile]] = field(default_factory=lambda: defaultdict(list))

    def with_moved(self, ids: list[str]) -> list[str]:
        """These sessions, and those that share a file with one of them: records go from one to the other."""
        chosen = dict.fromkeys(ids)
        for old, files in self.moved.items():
            if old in chosen or any(file.session_id in chosen for file in files):
                chosen |= dict.fromkeys([old, *(file.session_id for file in files)])
        return list(chosen)


@contextmanager
def open_sources(collection: Any, found: Any, report: Any, stored: Any) -> Iterator[AgentSources]:
    """The sources of an agent; `stored` are the ids of sessions that are here, or were.

    Raises Damaged and Unreadable.
    """
    sources = AgentSources()
    with ExitStack() as stack:
        for part in found.parts:
            _add_part(collection, part, report, stored, sources, stack)
        yield sources


def _add_part(collection, found, report, stored, sources, stack):
    """The sources of an agent that are in one of its folders, and in one of its databases."""
    database = _database(collection, found, report, stack)
    names: set[str] = set()
    if database is not None:
        _index(database, sources)
        names = _archives(collection, found, database, sources, stored)
    _entries(collection, found, report, sources)
    files = find_transcripts(collection, found, sources.entries.values())
    sources.files += files
    _files(collection, files, sources, stored, names)
    in_database = _events(collection, found, database, sources) if database is not None else set()
    _leftovers(collection, files, sources, stored, in_database)


def _database(collection, found, report, stack) -> Database | None:
    if found.database is None:
        return None
    try:
        database = stack.enter_context(source_databases.open_copy(collection, found.database, AGENT))
    except UnreadableDatabase as exc:
        note_unread(report, found.database, exc)
        return None
    return database


def note_unread(report: Any, path: Any, exc: Exception) -> None:
    """Say in the report that a database could not be read."""
    words = {"file": path.name, "reason": source_databases.describe_failure(exc)}
    report.notes.append(_("%(file)s was not read: %(reason)s.") % words)


def _index(database, sources):
    sources.entries.update((entry.session_id, entry) for entry in agent_database.read_index(database).entries)
    for archive in agent_database.read_archives(database):
        entry = agent_database.build_archived_entry(archive)
        if entry is not None:
            sources.entries.setdefault(entry.session_id, entry)


def _entries(collection, found, report, sources):
    if find_index_path(found) is not None:
        for entry in consent.read_entries(collection, found, report, []):
            sources.entries.setdefault(entry.session_id, entry)


def build_transcript(collection: Any, session_id: str, file: str, modified_ms: int, state: str) -> Transcript:
    """A source of a session as storing takes it."""
    return Transcript(session_id, file, modified_ms, state, collection.opted_out)


def _archives(collection, found, database, sources, stored):
    """What the database put away: read with --include-deleted, or when it was here before."""
    names, prefix = set(), collection.book.name(found.database)
    live = {one.session_id for one in agent_database.read_session_counts(database)}
    for archive in agent_database.read_archives(database):
        names.add(archive.name)
        name = f"{prefix}!{archive.session_id}/{archive.generation}"
        if not (collection.include_deleted or collection.book.part(name) or _is_orphan(archive, live, stored)):
            continue
        state = LIVE if archive.session_id in live or archive.reason == COLD else archive.reason
        told = build_transcript(collection, archive.session_id, name, archive.created_at or 0, state)
        sources.parts[archive.session_id].append(
            SessionSource(told, partial(_archived, collection, found, database, archive))
        )
    return names


def _is_orphan(archive, live, stored):
    """A session that is here, and was live when it was read: this is all that is left of its source."""
    return archive.session_id in stored and archive.session_id not in live


@contextmanager
def _archived(collection, found, database, archive: Archive):
    try:
        file = open_archive(collection.home.root, found.database, database, archive)
    except NotReadable:  # what is not met in any source stays as it was
        yield iter(())
        return
    with file:
        yield agent_database.read_archived_lines(archive, file)


def _files(collection, files, sources, stored, names):
    files = [file for file in files if not file.is_imported]
    live = {file.session_id for file in files if file.state == LIVE}
    for file in files:
        if file.path.name in names:  # the database holds the same
            continue
        is_left = file.state != LIVE and not collection.include_deleted
        was_read = collection.book.offset(Kind.TRANSCRIPT, file.path) > 0
        if not is_left or was_read or (file.session_id in stored and file.session_id not in live):
            sources.parts[file.session_id].append(build_file_part(collection, file))
        before = collection.book.session_of(file.path)
        if before and before != file.session_id:
            sources.moved[before].append(file)


def build_file_part(collection: Any, file: TranscriptFile) -> SessionSource:
    """A transcript file as a source of its session."""
    modified = modified_ms(file.stat.st_mtime_ns)
    told = build_transcript(collection, file.session_id, collection.book.name(file.path), modified, file.state)
    return SessionSource(told, partial(_lines, collection, file))


@contextmanager
def _lines(collection, file):
    with _opened(collection, file.path) as opened:
        if opened is None:
            yield iter(())
        elif file.is_packed:
            yield zstd_input.read_packed_lines(opened)
        else:
            yield jsonl.read_lines(opened, is_closed=file.state != LIVE or file.is_packed)


@contextmanager
def _opened(collection, path):
    """The file, or None when it is gone or is not opened: what is not met in any source stays as it was."""
    try:
        file = open_regular(collection.home.root, path)
    except NotReadable:
        yield None
        return
    with file:
        yield file


def _events(collection, found, database, sources):
    prefix, stat = collection.book.name(found.database), stat_regular(found.database)
    modified = modified_ms(stat.st_mtime_ns if stat else 0)
    ids = set()
    for one in agent_database.read_session_counts(database):
        if one.session_id:
            ids.add(one.session_id)
            name = f"{prefix}#{one.session_id}"
            told = build_transcript(collection, one.session_id, name, modified, LIVE)
            sources.parts[one.session_id].append(SessionSource(told, partial(_event_lines, database, one.session_id)))
    return ids


@contextmanager
def _event_lines(database, session_id):
    yield agent_database.read_events(database, session_id)


def _leftovers(collection, files, sources, stored, in_database):
    for file in files:
        is_known = file.session_id in stored or collection.book.offset(Kind.TRANSCRIPT, file.path) > 0
        is_wanted = file.is_imported and file.session_id not in in_database
        if is_wanted and (collection.include_deleted or is_known):
            sources.parts[file.session_id].append(build_file_part(collection, file))
