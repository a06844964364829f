"""Compares the rows of a table with those of the same table in an attached file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import FloatField, Model

from . import dialect, statements
from .dialect import ATTACHED, MAIN

MISSING, ADDITIONAL, DIFFERENT = "missing", "additional", "different"
CLOSE = 1e-9  # numbers that were added up in another order differ in their last digits


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row that only one of two files has, or whose `columns` differ."""

    table: str
    key: tuple[Any, ...]
    problem: str  # of the row in the file of the connection
    columns: tuple[str, ...] = ()

    def __str__(self):
        name = " ".join(map(str, self.key))
        return f"{self.table} {name} ({', '.join(self.columns) or self.problem})"


def compare_rows(db: str, model: type[Model], where: str, values: Sequence[Any] = ()) -> Iterator[RowDifference]:
    """Compare the rows of `db` that meet `where` with all rows of the attached file.

    Rows are the same by their primary key, which must not be a number that a file gave out.
    """
    fields, table = model._meta.concrete_fields, model._meta.db_table
    keys = [field.column for field in getattr(model._meta.pk, "fields", (model._meta.pk,))]
    compared = [field for field in fields if field.column not in keys]
    columns = [field.column for field in compared]
    unlike = [_build_difference(field) for field in compared]
    key, same = ", ".join(f"made.{name}" for name in keys), " AND ".join(f"there.{name} = made.{name}" for name in keys)
    is_missing = f"there.{keys[0]} IS NULL"
    query = f"""
        SELECT {", ".join([key, is_missing, *unlike])} FROM {ATTACHED}.{table} made
        LEFT JOIN {MAIN}.{table} there ON {same} WHERE {" OR ".join([is_missing, *unlike])} ORDER BY {key}
    """  # noqa: S608 - names of our tables and columns
    for row in statements.read_rows(db, query):
        names = [name for name, is_unlike in zip(columns, row[len(keys) + 1 :], strict=True) if is_unlike]
        is_gone = row[len(keys)]
        yield RowDifference(table, row[: len(keys)], MISSING if is_gone else DIFFERENT, () if is_gone else tuple(names))
    only_there = f"""
        SELECT {", ".join(keys)} FROM {MAIN}.{table} there
        WHERE {where} AND NOT EXISTS (SELECT 1 FROM {ATTACHED}.{table} made WHERE {same}) ORDER BY {", ".join(keys)}
    """  # noqa: S608
    for row in statements.read_rows(db, only_there, values):
        yield RowDifference(table, tuple(row), ADDITIONAL)


def _build_difference(field):
    there, made = f"there.{field.column}", f"made.{field.column}"
    unlike = dialect.differ(there, made)
    if not isinstance(field, FloatField):
        return f"({unlike})"
    is_close = f"abs({there} - {made}) <= {CLOSE} * max(1, abs({made}))"
    return f"({unlike} AND NOT coalesce({is_close}, 0))"
