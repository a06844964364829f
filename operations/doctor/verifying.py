"""What was imported, compared with where it came from: every record of a source is in the store."""

from collections import Counter
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents import databases
from agents.homes import NotReadable, look, open_regular
from agents.models import CollectorSource
from agents.sources import SourceBook
from ledger import unnamed
from ledger.models import TranscriptEventIdentity
from operations import collect_databases

from . import looking
from .sources import LEFTOVER, TRAJECTORY, Source

Kind = CollectorSource.Kind
BOOKED = {LEFTOVER: Kind.TRANSCRIPT, TRAJECTORY: Kind.TRANSCRIPT}


def problem_of(collection: Any, source: Source, apart: dict[str, set[str]]) -> str:
    """Why a source cannot count as imported; empty when everything in it is in the store.

    `collection` has a book that was read after the import; `apart` are sessions by agent that are kept out on purpose.
    """
    if not source.file.is_file():
        return _("It is gone.")
    if not _is_read(collection, source):
        if collection.opted_out and source.kind in (Kind.TRANSCRIPT, TRAJECTORY, Kind.SESSION_INDEX, Kind.ARTIFACT):
            return _("Not read: somebody opted out, and this may be theirs.")
        return source.problem or _("It was not read; it will be tried again.")
    if source.kind == Kind.DATABASE and source.target == "transcript_events":
        return _of_database(source, apart.get(source.agent, set()))
    if source.kind in (Kind.TRANSCRIPT, LEFTOVER) and source.session_id not in apart.get(source.agent, set()):
        return _of_transcript(collection, source)
    return ""


def is_whole(collection: Any, source: Source) -> bool:
    """Whether a file was read to its last byte and nothing of it was rejected: only then it may go."""
    kind = BOOKED.get(source.kind, source.kind)
    now = look(source.file)
    is_read = now is not None and collection.book.offset(kind, source.file) == now.st_size
    return is_read and not source.rejected


def _is_read(collection, source):
    if source.kind == Kind.DATABASE:
        return collect_databases.is_known(collection, source.file)
    kind = BOOKED.get(source.kind, source.kind)
    now = look(source.file)
    return now is not None and collection.book.is_known(kind, source.file, now)


def _of_transcript(collection, source):
    known = _ids(source.agent, source.session_id)
    missing = rejected = 0
    without_id: Counter[str] = Counter()
    try:
        with open_regular(collection.home.root, source.file) as file:
            end = _end(collection.book, source)
            for line in looking.lines(file, source.file, source.session_state):
                if end is not None and line.offset >= end:
                    break
                rejected += line.record is None
                if line.record is not None and looking.has_id(line):
                    missing += looking.record_id(line) not in known
                elif line.record is not None:
                    without_id[unnamed.key(line.record)] += 1
    except NotReadable as exc:
        return str(exc)
    if without_id:  # what they are called tells nothing: they may have been read in another place
        missing += unnamed.missing(databases.alias(source.agent), source.session_id, without_id)
    source.rejected = max(source.rejected, rejected)
    return _missing(missing)


def _end(book: SourceBook, source):
    return None if source.file.suffix == ".zst" else book.offset(Kind.TRANSCRIPT, source.file)


def _of_database(source, apart):
    missing = 0
    for session_id, count in source.sessions.items():
        if session_id not in apart:
            missing += max(0, count - len(_ids(source.agent, session_id)))
    return _missing(missing)


def _missing(count):
    words = ngettext(
        "%(count)s of its records is not in the store.", "%(count)s of its records are not in the store.", count
    )
    return words % {"count": count} if count else ""


def _ids(agent_id, session_id):
    rows = TranscriptEventIdentity.objects.using(databases.alias(agent_id)).filter(session_id=session_id)
    return set(rows.values_list("event_id", flat=True))
