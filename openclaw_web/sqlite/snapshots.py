"""SQLite's part of backups: compact copies of files that are in use, and a close look at copies that are not."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

BUSY_SECONDS = 30
LOOKING_CACHE_KB = 32_768


@dataclass(frozen=True, slots=True)
class Look:
    """What is in a database file: `ok` or the first thing wrong with it, rows by table, migrations as `app.name`."""

    integrity: str
    rows: dict[str, int]
    migrations: list[str]


def take(file: Path, target: Path) -> None:
    """Write a compact copy of a database while others go on writing to it.

    A copy holds what could be read, and its own pages always fit together: damage is looked for in the file itself.
    Raises sqlite3.Error, OSError.
    """
    with _opened(f"{file.as_uri()}?mode=rw") as db:
        (answer,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise sqlite3.DatabaseError(answer)
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")  # waits for nobody
        db.execute("PRAGMA synchronous=OFF")  # the copy is thrown away when the machine stops before it is packed
        try:
            db.execute("VACUUM INTO ?", [str(target)])
        finally:
            db.execute("PRAGMA synchronous=NORMAL")  # closing may write to the file itself


def empty(copy: Path, tables: Iterable[str], columns: Iterable[tuple[str, str]]) -> None:
    """Take all rows of `tables` and all values of `columns` (table, column) out of a copy; no trace of them is left."""
    with _opened(f"{copy.as_uri()}?mode=rw") as db:
        db.execute("PRAGMA journal_mode=MEMORY")
        db.execute("PRAGMA secure_delete=ON")
        known = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        db.execute("BEGIN")
        for table in known.intersection(tables):
            db.execute(f'DELETE FROM "{table}"')  # noqa: S608 - a name of ours
        for table, column in columns:
            if table in known:
                db.execute(f'UPDATE "{table}" SET "{column}" = NULL')  # noqa: S608
        db.execute("COMMIT")


def look(copy: Path) -> Look:
    """Check a copy that nobody writes to, page by page, and count its rows. Nothing appears beside it.

    Raises sqlite3.Error when it is no database.
    """
    with _opened(f"{copy.as_uri()}?mode=ro&immutable=1") as db:
        db.execute(f"PRAGMA cache_size=-{LOOKING_CACHE_KB}")
        (integrity,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        rows = {name: _count(db, name) for name in _tables(db)}
        migrations = _migrations(db) if "django_migrations" in rows else []
    return Look(integrity, rows, migrations)


def agents_in(copy: Path) -> list[tuple[str, str]]:
    """The agents that a copy of the global file names, with the place of each one's file in the home."""
    with _opened(f"{copy.as_uri()}?mode=ro&immutable=1") as db:
        return db.execute("SELECT agent_id, agent_db_path FROM agents ORDER BY agent_id").fetchall()


def values(copy: Path, table: str, column: str) -> list[str]:
    """Every value of a column of a copy that nobody writes to, each once."""
    with _opened(f"{copy.as_uri()}?mode=ro&immutable=1") as db:
        return [value for (value,) in db.execute(f'SELECT DISTINCT "{column}" FROM "{table}"')]  # noqa: S608 - our tables


@contextmanager
def _opened(uri) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        yield db


def _tables(db):
    names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    return [name for (name,) in names]


def _count(db, table):
    quoted = table.replace('"', '""')
    return db.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0]  # noqa: S608


def _migrations(db):
    return [f"{app}.{name}" for app, name in db.execute("SELECT app, name FROM django_migrations ORDER BY app, name")]
