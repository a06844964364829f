"""Finds values of a wrong type, and invalid JSON, in columns.

SQLite stores a value of any type in any column.
"""

from collections.abc import Iterator

from django.db import connections, models

from . import inspection, statements
from .json_columns import JsonProperty

# Storage classes of SQLite by the type of a field. Fields of other types are not checked.
KINDS = {
    "TextField": ("text",),
    "CharField": ("text",),
    "BigIntegerField": ("integer",),
    "IntegerField": ("integer",),
    "AutoField": ("integer",),
    "BigAutoField": ("integer",),
    "BooleanField": ("integer",),
    "FloatField": ("real", "integer"),
    "BinaryField": ("blob",),
}


def find_mistyped(db: str, model: type[models.Model]) -> Iterator[str]:
    """Find rows of a table that hold a value of a wrong type.

    Yields their names, `table key/key`.
    """
    quote = connections[db].ops.quote_name
    fields = [field for field in model._meta.concrete_fields if _find_kinds(field)]
    return _find_rows(db, model, [_build_type_condition(quote(str(field.column)), field) for field in fields])


def find_damaged_json(db: str, model: type[models.Model]) -> Iterator[str]:
    """Find rows with invalid JSON, or JSON of a wrong kind.

    Pages read such a text as absent. Yields the names of the rows.

    Reads every such text of the table.
    """
    columns = [value for base in model.__mro__ for value in vars(base).values() if isinstance(value, JsonProperty)]
    conditions = [_build_json_condition(connections[db].ops.quote_name(prop.column), prop, model) for prop in columns]
    return _find_rows(db, model, conditions) if conditions else iter(())


def _find_rows(db, model, conditions) -> Iterator[str]:
    quote, meta = connections[db].ops.quote_name, model._meta
    if inspection.is_removed(db, model):
        return
    keys = ", ".join(f"quote({quote(str(field.column))})" for field in meta.pk_fields)
    sql = f"SELECT {keys} FROM {quote(meta.db_table)} WHERE {' OR '.join(conditions)} ORDER BY {keys}"  # noqa: S608
    for row in statements.iterate_rows(db, sql):
        yield meta.db_table + " " + "/".join(key.strip("'") for key in row)


def _find_kinds(field):
    own_field = field.target_field if field.is_relation else field
    return KINDS.get(own_field.get_internal_type())


def _build_json_condition(column, decoded, model):
    kind = {dict: "object", list: "array"}.get(decoded.kind)
    is_other = f" OR json_type({column}) <> '{kind}'" if kind else ""
    wrong = f"typeof({column}) = 'text' AND {column} <> '' AND (NOT json_valid({column}){is_other})"
    prefix = model._meta.get_field(decoded.column).reference_prefix
    return f"({wrong} AND substr({column}, 1, {len(prefix)}) <> '{prefix}')" if prefix else f"({wrong})"


def _build_type_condition(column, field):
    # Without IN, and without reading a value: SQLite answers from the header of a row, however long its texts are.
    other = " AND ".join(f"typeof({column}) <> '{kind}'" for kind in _find_kinds(field))
    return f"({other} AND {column} IS NOT NULL)" if field.null else f"({other})"
