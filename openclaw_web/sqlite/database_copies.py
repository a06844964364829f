"""SQLite's part of backups: compact copies of files that are in use, and a close look at copies that are not."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.db import DatabaseError

from . import files

BUSY_SECONDS = 30
LOOKING_CACHE_KB = 32_768


@dataclass(frozen=True, slots=True)
class CopyState:
    """What is in a database file: `ok` or the first thing wrong with it, rows by table, migrations as `app.name`."""

    integrity: str
    rows: dict[str, int]
    migrations: list[str]


def copy_database(file: Path, target: Path) -> None:
    """Write a compact copy of a database while others go on writing to it.

    A copy holds what could be read, and its own pages always fit together: damage is looked for in the file itself.
    Raises django.db.Error, OSError.
    """
    with files.open_database(file, "rw", timeout=BUSY_SECONDS) as db:
        (answer,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise DatabaseError(answer)
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")  # waits for nobody
        db.execute("PRAGMA synchronous=OFF")  # the copy is thrown away when the machine stops before it is packed
        try:
            db.execute("VACUUM INTO ?", [str(target)])
        finally:
            db.execute("PRAGMA synchronous=NORMAL")  # closing may write to the file itself


def clear_copy(copy: Path, tables: Iterable[str], columns: Iterable[tuple[str, str]]) -> None:
    """Take all rows of `tables` and all values of `columns` (table, column) out of a copy; no trace of them is left."""
    with files.open_database(copy, "rw", timeout=BUSY_SECONDS) as db:
        db.execute("PRAGMA journal_mode=MEMORY")
        db.execute("PRAGMA secure_delete=ON")
        known = set(files.list_tables(db))
        db.execute("BEGIN")
        for table in known.intersection(tables):
            db.execute(f'DELETE FROM "{table}"')  # noqa: S608 - a name of ours
        for table, column in columns:
            if table in known:
                db.execute(f'UPDATE "{table}" SET "{column}" = NULL')  # noqa: S608
        db.execute("COMMIT")


def inspect_copy(copy: Path) -> CopyState:
    """Check a copy that nobody writes to, page by page, and count its rows. Nothing appears beside it.

    Raises django.db.Error when it is no database.
    """
    with files.open_database(copy, is_still=True) as db:
        db.execute(f"PRAGMA cache_size=-{LOOKING_CACHE_KB}")
        (integrity,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        quoted = {name: name.replace('"', '""') for name in files.list_tables(db)}
        rows = {name: db.execute(f'SELECT count(*) FROM "{told}"').fetchone()[0] for name, told in quoted.items()}  # noqa: S608
        query = "SELECT app, name FROM django_migrations ORDER BY app, name"
        seen = db.execute(query) if "django_migrations" in rows else ()
        return CopyState(integrity, rows, [f"{app}.{name}" for app, name in seen])


def read_agents(copy: Path) -> list[tuple[str, str]]:
    """The agents that a copy of the global file names, with the place of each one's file in the home."""
    return files.query_file(copy, "SELECT agent_id, agent_db_path FROM agents ORDER BY agent_id")


def read_values(copy: Path, table: str, column: str) -> list[str]:
    """Every value of a column of a copy that nobody writes to, each once."""
    return [value for (value,) in files.query_file(copy, f'SELECT DISTINCT "{column}" FROM "{table}"')]  # noqa: S608 - our tables


def read_kind_counts(copy: Path) -> list[tuple[str, str, int]]:
    """How many records of each kind each session has in a copy of an agent's file, as (session, kind, records)."""
    return files.query_file(copy, "SELECT session_id, kind, count(*) FROM transcript_events GROUP BY session_id, kind")


def read_record_ids(copy: Path, session_id: str) -> list[str]:
    """The ids of a session's records in a copy of an agent's file."""
    query = "SELECT event_id FROM transcript_event_identities WHERE session_id = ?"
    return [record_id for (record_id,) in files.query_file(copy, query, [session_id])]
