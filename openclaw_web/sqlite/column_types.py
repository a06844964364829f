"""Values that SQLite keeps in a column of another type, or of JSON that are none: it takes any value in any column."""

from collections.abc import Iterator

from django.db import connections, models

from . import statements
from .json_columns import JsonProperty

# The kinds of values that columns of our field types have. A field of another type is not looked at.
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
    """Names (`table key/key`) of the rows of a table with a value that its column does not have."""
    quote = connections[db].ops.quote_name
    fields = [field for field in model._meta.concrete_fields if _kinds(field)]
    return _find_rows(db, model, [_condition(quote(str(field.column)), field) for field in fields])


def find_damaged_json(db: str, model: type[models.Model]) -> Iterator[str]:
    """Names of the rows with a text that is no JSON, or JSON of another kind, where pages read it as absent.

    Reads every such text of the table.
    """
    columns = [value for base in model.__mro__ for value in vars(base).values() if isinstance(value, JsonProperty)]
    wrong = [_is_no_json(connections[db].ops.quote_name(one.column), one, model) for one in columns]
    return _find_rows(db, model, wrong) if wrong else iter(())


def _find_rows(db, model, wrong) -> Iterator[str]:
    quote, meta = connections[db].ops.quote_name, model._meta
    keys = ", ".join(f"quote({quote(str(field.column))})" for field in meta.pk_fields)
    sql = f"SELECT {keys} FROM {quote(meta.db_table)} WHERE {' OR '.join(wrong)} ORDER BY {keys}"  # noqa: S608
    for row in statements.iterate_rows(db, sql):
        yield meta.db_table + " " + "/".join(key.strip("'") for key in row)


def _kinds(field):
    own = field.target_field if field.is_relation else field
    return KINDS.get(own.get_internal_type())


def _is_no_json(column, decoded, model):
    kind = {dict: "object", list: "array"}.get(decoded.kind)
    is_other = f" OR json_type({column}) <> '{kind}'" if kind else ""
    wrong = f"typeof({column}) = 'text' AND {column} <> '' AND (NOT json_valid({column}){is_other})"
    prefix = model._meta.get_field(decoded.column).reference_prefix
    return f"({wrong} AND substr({column}, 1, {len(prefix)}) <> '{prefix}')" if prefix else f"({wrong})"


def _condition(column, field):
    # Without IN and without a value read: SQLite answers from the head of a row, however long its texts are.
    other = " AND ".join(f"typeof({column}) <> '{kind}'" for kind in _kinds(field))
    return f"({other} AND {column} IS NOT NULL)" if field.null else f"({other})"
