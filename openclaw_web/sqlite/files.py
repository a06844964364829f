"""Reads database files without Django: copies, backups and files of unknown schema."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from django.db.utils import DatabaseErrorWrapper

BUSY_SECONDS = 5
# Raises Django's exceptions, so that callers need not know sqlite3.
raise_as_django = DatabaseErrorWrapper(SimpleNamespace(Database=sqlite3, errors_occurred=False))


def file_uri(file: Path, mode: str = "rw") -> str:
    """The URI of a database file.

    A missing file is an error and is not created, unless `mode` is rwc.
    """
    return f"{file.absolute().as_uri()}?mode={mode}"


@contextmanager
def open_database(
    file: Path, mode: str = "ro", *, is_still: bool = False, timeout: float = BUSY_SECONDS
) -> Iterator[sqlite3.Connection]:
    """A connection to a file for the block. Raises django.db.Error.

    `is_still` promises that no process writes to the file; then SQLite creates no files beside it. `timeout` is in
    seconds.
    """
    name = file_uri(file, mode) + ("&immutable=1" if is_still else "")
    with raise_as_django, closing(sqlite3.connect(name, uri=True, timeout=timeout, isolation_level=None)) as database:
        yield database


def choose_temporary_folder(folder: Path) -> None:
    """Have this process and those that it starts keep SQLite's temporary files in `folder`."""
    os.environ["SQLITE_TMPDIR"] = str(folder)  # read when the library is loaded
    quoted = str(folder).replace("'", "''")
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"PRAGMA temp_store_directory = '{quoted}'")


def list_tables(database: sqlite3.Connection) -> list[str]:
    """List the tables of a file, without SQLite's own."""
    names = database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    )
    return [name for (name,) in names]


def query_file(copy: Path, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query on a file that no process writes to."""
    with open_database(copy, is_still=True) as database:
        return database.execute(query, values).fetchall()
