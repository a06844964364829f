"""Adding single rows hundreds of times a second: the ORM takes longer to write the SQL than SQLite to run it."""

from functools import cache

from django.db import connection, models


def add(row: models.Model) -> None:
    """Insert a new row of the global file. Columns without a value of Python's own (files, JSON objects) do not fit."""
    sql, names = _insert(type(row))
    with connection.cursor() as cursor:
        cursor.execute(sql, [getattr(row, name) for name in names])


@cache
def _insert(model):
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    sql = f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES ({marks})'  # noqa: S608 - our own columns
    return sql, [field.attname for field in fields]
