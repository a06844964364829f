"""Schemas with columns of a table, described by the fields of the table.

Names, types, choices and help come from the fields.
"""

from functools import cache
from typing import Any, ClassVar, Literal

from django.db.models import Model
from pydantic import Field as Described
from pydantic import create_model

from ..sqlite.fields import get_shown_fields
from .schemas import Schema

TYPES = {
    "TextField": str,
    "CharField": str,
    "BooleanField": bool,
    "FloatField": float,
    "BigIntegerField": int,
    "BigAutoField": int,
}


class TableSchema(Schema):
    """Base class of answers with columns of `table`.

    Subclasses add values that they compute, or replace a column.
    """

    table: ClassVar[type[Model]]


@cache
def table_schema(table: type[Model], *names: str) -> Any:
    """A base class with the named columns of a table.

    Without names it has the columns that the fields show in the API.

    The result is Any, because no type checker follows a class made from a table. `./dev run records NAME` prints the
    fields of answers.
    """
    fields = {field.attname: field for field in table._meta.concrete_fields}
    chosen = names or [field.attname for field in get_shown_fields(table, "api")]
    described = {name: Described(description=str(fields[name].help_text) or None) for name in chosen}
    columns: dict[str, Any] = {name: (_get_type(fields[name]), described[name]) for name in chosen}
    schema = create_model(f"{table.__name__}Columns", __base__=TableSchema, __module__=table.__module__, **columns)
    schema.table = table
    return schema


def _get_type(field: Any) -> Any:
    """The type of a column's values in JSON."""
    target = field.target_field if field.is_relation else field
    choices = tuple(value for value, _label in field.choices or ())
    kind = Literal[choices] if choices else TYPES[target.get_internal_type()]
    return kind | None if field.null else kind
