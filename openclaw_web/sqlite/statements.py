"""Runs SQL that is written by hand, where the ORM cannot express it or is slow.

docs/databases.md lists the modules that have such SQL, with their reasons.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.db import connections, models

Row = tuple[Any, ...]
Model = TypeVar("Model", bound=models.Model)
_gathered: ContextVar[tuple[str, dict[str, list[Sequence[Any]]]] | None] = ContextVar("gathered", default=None)


def run(db: str, sql: str, values: Sequence[Any] = ()) -> None:
    """Run a statement without a result."""
    with connections[db].cursor() as cursor:
        cursor.execute(sql, values)


def run_many(db: str, sql: str, rows: Iterable[Sequence[Any]]) -> None:
    """Run a statement with the values of each row; inside of `gather_rows` later."""
    waiting = _gathered.get()
    if waiting is not None and waiting[0] == db:
        waiting[1].setdefault(sql, []).extend(rows)
        return
    with connections[db].cursor() as cursor:
        cursor.executemany(sql, rows)


@contextmanager
def gather_rows(db: str) -> Iterator[None]:
    """Run each statement of `run_many` once at the end of the block, with all its rows.

    For the tables of many small sessions. Nothing in the block may read these rows: who does, calls `stop_gathering`
    before.
    """
    token = _gathered.set((db, {}))
    try:
        yield
        stop_gathering()
    finally:
        _gathered.reset(token)


def stop_gathering() -> None:
    """Run what `gather_rows` has gathered; the rest of its block runs at once."""
    waiting = _gathered.get()
    _gathered.set(None)
    for sql, rows in waiting[1].items() if waiting is not None else ():
        run_many(waiting[0], sql, rows)


def read_rows(db: str, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """Read all rows of a result, which ends the statement and its own transaction."""
    with connections[db].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def read_row(db: str, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """Read the first row of a result, or None."""
    with connections[db].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()


def iterate_rows(db: str, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
    """Iterate over the rows of a result of any length."""
    with connections[db].cursor() as cursor:
        cursor.execute(sql, values)
        yield from cursor


def read_object(model: type[Model], sql: str, values: Sequence[Any]) -> Model | None:
    """Read the first row as a model object of the global file, or None.

    Columns that the model does not have become attributes.
    """
    return next(iter(model._base_manager.raw(sql, values)), None)


@contextmanager
def read_transaction(db: str) -> Iterator[None]:
    """Read everything in the block as of one moment, while others write.

    It takes no lock that a writer waits for.
    """
    connection = connections[db]
    connection.ensure_connection()
    if connection.connection.in_transaction:
        yield
        return
    run(db, "BEGIN DEFERRED")
    try:
        yield
    finally:
        connection.connection.rollback()


@contextmanager
def undecodable_texts(db: str) -> Iterator[None]:
    """Read texts that are no UTF-8 with lone surrogates in the block, instead of raising.

    Every text passes through Python then, so that it is slower.
    """
    connection = connections[db]
    connection.ensure_connection()
    connection.connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.connection.text_factory = str
