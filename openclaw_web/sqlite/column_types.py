"""Values that SQLite keeps in a column of another type: it takes any value in any column."""

from collections.abc import Iterator

from django.db import connections, models

from . import statements

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
    quote, meta = connections[db].ops.quote_name, model._meta
    wrong = [_condition(quote(str(field.column)), field) for field in meta.concrete_fields if _kinds(field)]
    keys = ", ".join(f"quote({quote(str(field.column))})" for field in meta.pk_fields)
    sql = f"SELECT {keys} FROM {quote(meta.db_table)} WHERE {' OR '.join(wrong)} ORDER BY {keys}"  # noqa: S608
    for row in statements.walked(db, sql):
        yield meta.db_table + " " + "/".join(key.strip("'") for key in row)


def _kinds(field):
    own = field.target_field if field.is_relation else field
    return KINDS.get(own.get_internal_type())


def _condition(column, field):
    # Without IN and without a value read: SQLite answers from the head of a row, however long its texts are.
    other = " AND ".join(f"typeof({column}) <> '{kind}'" for kind in _kinds(field))
    return f"({other} AND {column} IS NOT NULL)" if field.null else f"({other})"
