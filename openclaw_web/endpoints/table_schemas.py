"""Answers that hold columns of a table: names, types, choices and help are what its fields say."""

from functools import cache
from typing import Any, ClassVar, Literal

from django.db.models import Field, Model
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
    """An answer with columns of `table`. Subclasses add what they compute, or say a column in another way."""

    table: ClassVar[type[Model]]


@cache
def table_schema(table: type[Model], *names: str) -> Any:
    """A base class with the named columns of a table, or with those that its fields show in the API.

    It is Any: no type checker follows a class made of a table. `./dev run records NAME` prints what answers hold.
    """
    fields = {field.attname: field for field in table._meta.concrete_fields}
    chosen = names or [field.attname for field in get_shown_fields(table, "api")]
    columns: dict[str, Any] = {name: (_type_of(fields[name]), _described(fields[name])) for name in chosen}
    schema = create_model(f"{table.__name__}Columns", __base__=TableSchema, __module__=table.__module__, **columns)
    schema.table = table
    return schema


def _type_of(field: Any) -> Any:
    """The type of a column's values in JSON."""
    target = field.target_field if field.is_relation else field
    choices = tuple(value for value, _label in field.choices or ())
    kind = Literal[choices] if choices else TYPES[target.get_internal_type()]
    return kind | None if field.null else kind


def _described(field: Field) -> Any:
    return Described(description=str(field.help_text) or None)
