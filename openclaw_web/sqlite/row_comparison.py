"""Compares the rows of a table with those of the same table in an attached file."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.apps import apps
from django.db import transaction
from django.db.models import FloatField, Model

from . import dialect, inspection, statements
from .dialect import ATTACHED, MAIN

MISSING, ADDITIONAL, DIFFERENT = "missing", "additional", "different"
CLOSE = 1e-9  # numbers that were added up in another order differ in their last digits
NONE = "1 = 0"  # no row
MOST = 100_000  # differences of one table


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


def compare_rows(
    db: str,
    model: type[Model],
    where: str,
    values: Sequence[Any] = (),
    *,
    of_made: str = "",
    keys: Sequence[str] = (),
    without: Collection[str] = (),
) -> Iterator[RowDifference]:
    """Compare the rows of `db` that meet `where` with all rows of the attached file, or with its rows `of_made`.

    Both conditions have the same `values`. Rows are the same by their primary key, or by the unique columns `keys`
    where that is a number that a file gave out. The columns `without` may differ.
    """
    if inspection.is_removed(db, model):
        return
    fields, table = model._meta.concrete_fields, model._meta.db_table
    keys = keys or list_keys(model)
    compared = [field for field in fields if field.column not in (*keys, *without)]
    columns = [field.column for field in compared]
    unlike = [_build_difference(field) for field in compared]
    key, same = ", ".join(f"made.{name}" for name in keys), _join_keys(keys, "there.{0} = made.{0}")
    is_missing = f"there.{keys[0]} IS NULL"
    query = f"""
        SELECT {", ".join([key, is_missing, *unlike])} FROM {ATTACHED}.{table} made
        LEFT JOIN {MAIN}.{table} there ON {same}
        WHERE ({" OR ".join([is_missing, *unlike])}) {f"AND {of_made}" if of_made else ""} ORDER BY {key} LIMIT {MOST}
    """  # noqa: S608 - names of our tables and columns
    for row in statements.read_rows(db, query, values if of_made else ()):
        names = [name for name, is_unlike in zip(columns, row[len(keys) + 1 :], strict=True) if is_unlike]
        is_gone = row[len(keys)]
        yield RowDifference(table, row[: len(keys)], MISSING if is_gone else DIFFERENT, () if is_gone else tuple(names))
    if where == NONE:
        return
    only_there = f"""
        SELECT {", ".join(keys)} FROM {MAIN}.{table} there WHERE {where}
        AND NOT EXISTS (SELECT 1 FROM {ATTACHED}.{table} made WHERE {same}) ORDER BY {", ".join(keys)} LIMIT {MOST}
    """  # noqa: S608
    for row in statements.read_rows(db, only_there, values):
        yield RowDifference(table, tuple(row), ADDITIONAL)


def take_rows(db: str, differences: Iterable[RowDifference]) -> None:
    """Make rows of `db` those of the attached file, in one transaction."""
    models = {model._meta.db_table: model for model in apps.get_models()}
    with transaction.atomic(using=db):
        for (table, problem, columns), rows in groupby(differences, attrgetter("table", "problem", "columns")):
            own_key = _join_keys(list_keys(models[table]), "{0} = %s")
            names = ", ".join(columns or [field.column for field in models[table]._meta.concrete_fields])
            made = f"SELECT {names} FROM {ATTACHED}.{table} WHERE {own_key}"  # noqa: S608 - names of ours
            keys = [row.key for row in rows]
            if problem == MISSING:
                statements.run_many(db, f"INSERT INTO {MAIN}.{table} ({names}) {made}", keys)
            elif problem == ADDITIONAL:
                statements.run_many(db, f"DELETE FROM {MAIN}.{table} WHERE {own_key}", keys)  # noqa: S608
            else:
                update = f"UPDATE {MAIN}.{table} SET ({names}) = ({made}) WHERE {own_key}"  # noqa: S608
                statements.run_many(db, update, [key * 2 for key in keys])


def list_keys(model: type[Model]) -> list[str]:
    """The columns of the primary key."""
    return [field.column for field in getattr(model._meta.pk, "fields", (model._meta.pk,))]


def _join_keys(keys, text):
    return " AND ".join(text.format(name) for name in keys)


def _build_difference(field):
    there, made = f"there.{field.column}", f"made.{field.column}"
    unlike = dialect.differ(there, made)
    if not isinstance(field, FloatField):
        return f"({unlike})"
    is_close = f"abs({there} - {made}) <= {CLOSE} * max(1, abs({made}))"
    return f"({unlike} AND NOT coalesce({is_close}, 0))"
