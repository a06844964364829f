"""Finds changed databases of OpenClaw, and opens private copies of them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents import database_copies, unread_parts
from agents.database_copies import NotCopied
from agents.homes import NotReadable, stat_regular
from ledger.collectors import database_schemas
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import Extract, Tables
from ledger.collectors.jsonl import Line
from ledger.transcripts import transcript_store
from openclaw_web.sqlite import failures

READER = 5  # increased when readers support more: unchanged databases are then read again
Stats = tuple[os.stat_result | None, os.stat_result | None]


class UnreadableDatabase(Exception):
    """A database cannot be copied: `reason` is a code, the text the end of a sentence."""

    def __init__(self, reason: str, detail: str):
        super().__init__(detail)
        self.reason = reason


@contextmanager
def open_copy(
    collection: Any, source: Path, tables: Tables, *, root: Path | None = None, extracts: tuple[Extract, ...] = ()
) -> Iterator[Database]:
    """Open a checked copy of the database `source`.

    It is below `root`, a workspace, or by default below the home. Raises UnreadableDatabase when there is no copy.
    """
    try:
        folder = root or collection.home.root
        with collection.copies.open_copy(folder, source) as copy, Database(copy.path, tables, extracts) as database:
            if not copy.is_checked:
                database.check()
                copy.is_checked = True
            _note_computed(collection, source, database)
            yield database
    except DamagedDatabase as exc:
        raise UnreadableDatabase("bad_database", failures.translate_message(str(exc))) from exc
    except (NotReadable, NotCopied) as exc:
        raise UnreadableDatabase("database_not_copied", str(exc)) from exc


def _note_computed(collection, source, database):
    """Note tables that are not read because they have generated columns.

    SQLite would compute these for as long as the file demands.
    """
    for table in filter(database.allowed.__contains__, database.computed):
        words = {"file": collection.book.name(source), "table": table}
        note = _("The table %(table)s of %(file)s was not read: it has generated columns.") % words
        if note not in collection.home.notes:
            collection.home.notes.append(note)


def note_unread(collection: Any, source: Path, database: Database, schema: database_schemas.Schema) -> None:
    """Note the unread parts of a database, and an unknown old version."""
    unread_parts.note_parts(source, database_schemas.find_unread_parts(database, schema).as_json())
    if database.version < schema.versions.start:
        words = {"file": collection.book.name(source), "version": database.version}
        note = _("%(file)s has the unknown version %(version)s; only its known parts were imported.") % words
        collection.home.notes.append(note)


def describe_failure(exc: UnreadableDatabase | DamagedDatabase) -> str:
    """The reason why a database was not read, as the end of a sentence."""
    return failures.translate_message(str(exc)) if isinstance(exc, DamagedDatabase) else str(exc)


def is_known(collection: Any, source: Path) -> bool:
    """Whether a database and its log are unchanged since a reading that covers this import."""
    stat, wal = read_stats(source)
    return stat is not None and any(
        collection.book.was_read(source, stat, how)
        and (wal is None or collection.book.was_read(get_wal_path(source), wal, how))
        for how in _find_read_modes(collection)
    )


def note_read(collection: Any, source: Path, stats: Stats, agent_id: str) -> None:
    """Note that a database was read completely, in the state of `stats`."""
    how = _find_read_modes(collection)[0]
    for path, stat in zip((source, get_wal_path(source)), stats, strict=True):
        if stat is not None:
            collection.book.save_read(path, stat, how, agent_id=agent_id)


def read_stats(source: Path) -> Stats:
    """The current status of a database and its log; None for missing files."""
    return stat_regular(source), database_copies.stat_wal(source)


def get_copy_size(source: Path) -> int:
    """The size of a copy in bytes."""
    return sum(stat.st_size for stat in read_stats(source) if stat)


def get_wal_path(source: Path) -> Path:
    """The path of the `-wal` file beside a database."""
    return source.with_name(source.name + database_copies.WAL)


def store_rejection(collection: Any, agent: Any, source: Path, reason: str, detail: str, *, part: str = "") -> None:
    """Store a rejection of a database, or of its `part`, for the page of rejected records."""
    line = Line(0, 0 if part else get_copy_size(source), b"", None, reason, detail)
    transcript_store.store_rejected_lines(agent.db, collection.book.name(source) + part, [line])


def _find_read_modes(collection):
    """The mode of this import, then other modes that cover it.

    Reading with deleted sessions covers reading without them.
    """
    opted_out = ",".join(sorted(collection.opted_out))
    ways = [f"{READER} live {opted_out}", f"{READER} deleted {opted_out}"]
    return ways[1:] if collection.include_deleted else ways
