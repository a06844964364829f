"""Statements that are written out: the ORM has no words for them, or takes longer to write than SQLite to run them.

Which modules have such texts, and why, stands in docs/databases.md.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connections, models

Row = tuple[Any, ...]
Model = TypeVar("Model", bound=models.Model)


def run(db: str, sql: str, values: Sequence[Any] = ()) -> None:
    """Run a statement that answers nothing."""
    with connections[db].cursor() as cursor:
        cursor.execute(sql, values)


def run_many(db: str, sql: str, rows: Iterable[Sequence[Any]]) -> None:
    """Run a statement with the values of each row."""
    with connections[db].cursor() as cursor:
        cursor.executemany(sql, rows)


def read_rows(db: str, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """All rows of an answer: the statement has ended, and with it its transaction when it was one of its own."""
    with connections[db].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def read_row(db: str, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """The first row of an answer."""
    with connections[db].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()


def iterate_rows(db: str, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
    """The rows of an answer one after the other, however many there are."""
    with connections[db].cursor() as cursor:
        cursor.execute(sql, values)
        yield from cursor


def read_object(model: type[Model], sql: str, values: Sequence[Any]) -> Model | None:
    """The first row as an object of a model of the global file; columns that it does not have are attributes."""
    return next(iter(model._base_manager.raw(sql, values)), None)


@contextmanager
def read_transaction(db: str) -> Iterator[None]:
    """Read everything in the block as it is at one moment, while others write. It takes no lock that they wait for."""
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
