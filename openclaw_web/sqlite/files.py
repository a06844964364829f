"""Database files of ours that are asked without Django: copies, backups, and files whose schema nobody knows yet."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from django.db.utils import DatabaseErrorWrapper

BUSY_SECONDS = 5
# What fails is told as Django tells it: whoever asks knows no sqlite3.
_as_django_says = DatabaseErrorWrapper(SimpleNamespace(Database=sqlite3, errors_occurred=False))


def file_uri(file: Path, mode: str = "rw") -> str:
    """A file as SQLite is told of it. Unless `mode` is rwc, one that is not there is an error, and none is made."""
    return f"{file.absolute().as_uri()}?mode={mode}"


@contextmanager
def open_database(
    file: Path, mode: str = "ro", *, is_still: bool = False, timeout: float = BUSY_SECONDS
) -> Iterator[sqlite3.Connection]:
    """A connection to a file; `is_still` promises that nobody writes to it, and nothing appears beside it then.

    Raises django.db.Error.
    """
    name = file_uri(file, mode) + ("&immutable=1" if is_still else "")
    with _as_django_says, closing(sqlite3.connect(name, uri=True, timeout=timeout, isolation_level=None)) as database:
        yield database


def list_tables(database: sqlite3.Connection) -> list[str]:
    """The names of the tables of a file, without SQLite's own."""
    names = database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    )
    return [name for (name,) in names]


def query_file(copy: Path, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Every row of a query of a file that nobody writes to."""
    with open_database(copy, is_still=True) as database:
        return database.execute(query, values).fetchall()
