"""OpenClaw's databases under collect: which are new, and a private copy of one to read from."""

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

READER = 3  # raised when readers learn to read more: databases that have not changed are then read again
Stats = tuple[os.stat_result | None, os.stat_result | None]


class UnreadableDatabase(Exception):
    """There is no copy to read: `reason` is a word of the report, the text is a sentence's end."""

    def __init__(self, reason: str, detail: str):
        super().__init__(detail)
        self.reason = reason


@contextmanager
def open_copy(
    collection: Any, source: Path, tables: Tables, *, root: Path | None = None, extracts: tuple[Extract, ...] = ()
) -> Iterator[Database]:
    """A checked copy of the database `source` below `root`, a workspace, else the home.

    Raises Unreadable when there is none.
    """
    try:
        within = root or collection.home.root
        with collection.copies.of(within, source) as copy, Database(copy.path, tables, extracts) as database:
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
    """Say which tables are not read because SQLite would compute a column of them, for as long as the file likes."""
    for table in filter(database.allowed.__contains__, database.computed):
        words = {"file": collection.book.name(source), "table": table}
        note = _("The table %(table)s of %(file)s was not read: it has generated columns.") % words
        if note not in collection.home.notes:
            collection.home.notes.append(note)


def note_unread(collection: Any, source: Path, database: Database, schema: database_schemas.Schema) -> None:
    """Note what of a database is not read; one that is older than any known version says so in the notes."""
    unread_parts.note_parts(source, database_schemas.find_unread_parts(database, schema).as_json())
    if database.version < schema.versions.start:
        words = {"file": collection.book.name(source), "version": database.version}
        note = _("%(file)s has the unknown version %(version)s; only its known parts were imported.") % words
        collection.home.notes.append(note)


def describe_failure(exc: UnreadableDatabase | DamagedDatabase) -> str:
    """Why a database was not read, as the end of a sentence."""
    return failures.translate_message(str(exc)) if isinstance(exc, DamagedDatabase) else str(exc)


def is_known(collection: Any, source: Path) -> bool:
    """Whether nothing is new in a database and its log since it was read in a way that covers this one."""
    stat, wal = read_stats(source)
    return stat is not None and any(
        collection.book.was_read(source, stat, how)
        and (wal is None or collection.book.was_read(get_wal_path(source), wal, how))
        for how in _ways(collection)
    )


def note_read(collection: Any, source: Path, stats: Stats, agent_id: str) -> None:
    """A database was read to its end, as it was when `stats` were taken."""
    how = _ways(collection)[0]
    for path, stat in zip((source, get_wal_path(source)), stats, strict=True):
        if stat is not None:
            collection.book.save_read(path, stat, how, agent_id=agent_id)


def read_stats(source: Path) -> Stats:
    """What a database and its log look like now; None for what is not there."""
    return stat_regular(source), database_copies.stat_wal(source)


def get_copy_size(source: Path) -> int:
    """How many bytes a copy takes."""
    return sum(stat.st_size for stat in read_stats(source) if stat)


def get_wal_path(source: Path) -> Path:
    """The `-wal` beside a database."""
    return source.with_name(source.name + database_copies.WAL)


def store_rejection(collection: Any, agent: Any, source: Path, reason: str, detail: str, *, of: str = "") -> None:
    """Show under Rejected records that a database, or the part `of` it, was not read."""
    line = Line(0, 0 if of else get_copy_size(source), b"", None, reason, detail)
    transcript_store.store_rejected_lines(agent.db, collection.book.name(source) + of, [line])


def _ways(collection):
    """How this collect reads, and what covers it: with deleted sessions everything is read that is read without."""
    opted_out = ",".join(sorted(collection.opted_out))
    ways = [f"{READER} live {opted_out}", f"{READER} deleted {opted_out}"]
    return ways[1:] if collection.include_deleted else ways
