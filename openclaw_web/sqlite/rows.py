"""Inserts single rows, hundreds of times a second.

The ORM takes longer to build the SQL than SQLite to run it.
"""

from collections.abc import Iterable
from functools import cache

from django.db import DEFAULT_DB_ALIAS, models

from . import statements


def insert_sql(table: str, columns: Iterable[str]) -> str:
    """The INSERT of one row.

    An import of many rows as model objects takes three times as long.
    """
    names = [f'"{name}"' for name in columns]
    return f'INSERT INTO "{table}" ({", ".join(names)}) VALUES ({", ".join(["%s"] * len(names))})'  # noqa: S608 - ours


def insert_row(row: models.Model) -> None:
    """Insert a new row of the global file.

    Columns whose Python value needs a conversion (files, JSON objects) are not supported.
    """
    sql, names = _build_insert(type(row))
    statements.run(DEFAULT_DB_ALIAS, sql, [getattr(row, name) for name in names])


@cache
def _build_insert(model):
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    return insert_sql(model._meta.db_table, [field.column for field in fields]), [field.attname for field in fields]
