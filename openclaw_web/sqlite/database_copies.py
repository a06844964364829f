"""Copies databases that are in use, and inspects the copies, for backups."""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.db import DatabaseError

from . import files

BUSY_SECONDS = 30
LOOKING_CACHE_KB = 32_768


@dataclass(frozen=True, slots=True)
class CopyState:
    """The content of a copy: integrity, rows by table, migrations as `app.name`.

    `integrity` is `ok`, or the first fault.
    """

    integrity: str
    rows: dict[str, int]
    migrations: list[str]


def copy_database(file: Path, target: Path) -> None:
    """Write a compact copy of a database while others go on writing to it.

    The pages of a copy are always consistent, so the file itself is checked for damage first. Raises django.db.Error
    and OSError.
    """
    with files.open_database(file, "rw", timeout=BUSY_SECONDS) as db:
        (answer,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise DatabaseError(answer)
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")  # does not wait for other connections
        db.execute("PRAGMA synchronous=OFF")  # if the machine stops before the copy is packed, the copy is discarded
        try:
            db.execute("VACUUM INTO ?", [str(target)])
        finally:
            db.execute("PRAGMA synchronous=NORMAL")  # closing may write to the file itself


def clear_copy(copy: Path, tables: Iterable[str], columns: Iterable[tuple[str, str]]) -> None:
    """Remove all rows of `tables` and all values of `columns` from a copy.

    `columns` are (table, column). No trace of the values remains in the file.
    """
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


def hash_database(file: Path) -> str:
    """The hash of a database and its -wal.

    The content of the -wal is moved into the file first, as a copy does.
    """
    with suppress(DatabaseError), files.open_database(file, "rw") as db:  # a copy would report damage
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    digest = hashlib.sha256()
    for path in (file, file.with_name(f"{file.name}-wal")):
        with suppress(FileNotFoundError), path.open("rb") as source:
            digest.update(hashlib.file_digest(source, "sha256").digest())
    return digest.hexdigest()


def inspect_copy(copy: Path) -> CopyState:
    """Check a copy page by page, and count its rows.

    No process may write to it; no files appear beside it.

    Raises django.db.Error when it is no database.
    """
    with files.open_database(copy, is_still=True) as db:
        db.execute(f"PRAGMA cache_size=-{LOOKING_CACHE_KB}")
        (integrity,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        quoted = {name: name.replace('"', '""') for name in files.list_tables(db)}
        rows = {name: db.execute(f'SELECT count(*) FROM "{escaped}"').fetchone()[0] for name, escaped in quoted.items()}  # noqa: S608
        query = "SELECT app, name FROM django_migrations ORDER BY app, name"
        seen = db.execute(query) if "django_migrations" in rows else ()
        return CopyState(integrity, rows, [f"{app}.{name}" for app, name in seen])


def read_agents(copy: Path) -> list[tuple[str, str]]:
    """The agents in a copy of the global file, with the paths of their files.

    The paths are relative to the home.
    """
    return files.query_file(copy, "SELECT agent_id, agent_db_path FROM agents ORDER BY agent_id")


def read_seals(copy: Path) -> list[tuple[str, str]]:
    """The releases in a copy of the global file, with the SHA-256 of their seals."""
    return files.query_file(copy, "SELECT version_id, sha256 FROM release_seals")


def read_values(copy: Path, table: str, column: str) -> list[str]:
    """Every distinct value of a column of a copy that no process writes to."""
    return [value for (value,) in files.query_file(copy, f'SELECT DISTINCT "{column}" FROM "{table}"')]  # noqa: S608 - our tables


def read_kind_counts(copy: Path) -> list[tuple[str, str, int]]:
    """Records per session and kind in a copy of an agent's file.

    The rows are (session, kind, number of records).
    """
    return files.query_file(copy, "SELECT session_id, kind, count(*) FROM transcript_events GROUP BY session_id, kind")


def read_record_ids(copy: Path, session_id: str) -> list[str]:
    """The ids of a session's records in a copy of an agent's file."""
    query = "SELECT event_id FROM transcript_event_identities WHERE session_id = ?"  # also in older copies
    return [record_id for (record_id,) in files.query_file(copy, query, [session_id])]
