"""Verifies an import: every record of a source has to be in the store."""

from collections import Counter
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents import databases
from agents.homes import NotReadable, stat_regular
from agents.models import CollectorSource
from collecting import episode_import
from collecting.stages import source_databases as collect_databases
from collecting.stages.agent_database import open_archive
from collecting.stages.source_databases import UnreadableDatabase
from ledger.collectors import agent_database
from ledger.collectors.database import DamagedDatabase
from ledger.collectors.database_tables import AGENT
from ledger.collectors.records import own_id
from ledger.models import Session, TranscriptEvent
from ledger.transcripts import unnamed_records

from . import places
from .home_sources import EPISODES, LEFTOVER, TRAJECTORY, Source

Kind = CollectorSource.Kind
BOOKED = {LEFTOVER: Kind.TRANSCRIPT, TRAJECTORY: Kind.TRANSCRIPT}


def problem_of(collection: Any, source: Source, apart: dict[str, set[str]]) -> str:
    """The reason why a source does not count as imported; empty when it does.

    `collection` has a book that was read after the import; `apart` are sessions by agent that are excluded on purpose.
    """
    if stat_regular(source.file) is None:
        return _("The source is missing.")
    if not _is_read(collection, source) and not _is_unrequested(collection, source):
        if collection.opted_out and source.kind in (Kind.TRANSCRIPT, TRAJECTORY, Kind.SESSION_INDEX, Kind.ARTIFACT):
            return _("Not read: somebody opted out, and this source may be theirs.")
        return source.problem or _("The source was not read. The next run tries again.")
    if source.kind == Kind.DATABASE and source.target == "transcript_events":
        return _check_database(collection, source, apart.get(source.agent, set()))
    if source.kind in (Kind.TRANSCRIPT, LEFTOVER) and source.session_id not in apart.get(source.agent, set()):
        return _check_transcript(collection, source)
    return ""


def is_fully_imported(collection: Any, source: Source) -> bool:
    """Whether a file was read completely without a rejection; only then it may be removed."""
    kind = BOOKED.get(source.kind, source.kind)
    now = stat_regular(source.file)
    is_read = now is not None and collection.book.offset(kind, source.file, agent_id=source.agent) == now.st_size
    return is_read and not source.rejected


def _is_unrequested(collection, source):
    """Whether a source belongs to a deleted session that was not requested.

    What was read of it before has to be stored.
    """
    return source.session_state not in ("", Session.State.LIVE) and not collection.include_deleted


def _is_read(collection, source):
    if source.target == EPISODES:
        return not episode_import.count_bytes_to_read(collection)
    if source.kind == Kind.DATABASE:
        return collect_databases.is_known(collection, source.file)
    kind = BOOKED.get(source.kind, source.kind)
    now = stat_regular(source.file)
    return now is not None and collection.book.is_known(kind, source.file, now, agent_id=source.agent)


def _check_transcript(collection, source):
    read = collection.book.offset(Kind.TRANSCRIPT, source.file)
    end = read if read and not places.is_packed(source) else places.END
    rejected = 0

    def lines():
        nonlocal rejected
        for line in places.build_line_reader(collection.home.root, source)(0):
            if line.offset >= end:
                return
            rejected += line.record is None
            yield line

    try:
        missing = _count_missing(source.agent, source.session_id, lines())
    except NotReadable as exc:
        return str(exc)
    source.rejected = max(source.rejected, rejected)
    return _describe_missing(missing)


def _check_database(collection, source, apart):
    """Check every record that was read from the sessions and archives of a database."""
    missing, book = 0, collection.book
    try:
        with collect_databases.open_copy(collection, source.file, AGENT) as database:
            for session in agent_database.read_session_counts(database):
                part = book.part(f"{source.name}#{session.session_id}")
                if part and session.session_id not in apart:
                    lines = agent_database.read_events(database, session.session_id)
                    read = (line for line in lines if line.offset < part.end)
                    missing += _count_missing(source.agent, session.session_id, read)
            for archive in agent_database.read_archives(database):
                is_read = book.part(f"{source.name}!{archive.session_id}/{archive.generation}") is not None
                if is_read and archive.session_id not in apart:
                    with open_archive(collection.home.root, source.file, database, archive) as file:
                        lines = agent_database.read_archived_lines(archive, file)
                        missing += _count_missing(source.agent, archive.session_id, lines)
    except (NotReadable, UnreadableDatabase, DamagedDatabase) as exc:
        return str(exc)
    return _describe_missing(missing)


def _count_missing(agent_id, session_id, lines):
    rows = TranscriptEvent.objects.using(databases.get_alias(agent_id)).filter(session_id=session_id)
    known, missing = set(rows.values_list("event_id", flat=True)), 0
    without_id: Counter[str] = Counter()
    for line in lines:
        if line.record is None:
            continue
        name = own_id(line.record)
        missing += name is not None and name not in known
        without_id.update([unnamed_records.compute_key(line.record)] if name is None else [])
    if without_id:  # their stored names do not identify them: they may have been read from another place
        missing += unnamed_records.count_missing(databases.get_alias(agent_id), session_id, without_id)
    return missing


def _describe_missing(count):
    words = ngettext(
        "%(count)s record of this source is not stored.", "%(count)s records of this source are not stored.", count
    )
    return words % {"count": count} if count else ""
