"""The values that a column of sessions takes, found by hopping through its index: no matter how many rows there are."""

from django.db import connections

from .models import Session

MOST = 50


def values_of(db: str, column: str) -> list[str]:
    """The first MOST values of an indexed column of sessions, in order."""
    # A DISTINCT would walk through every row; this takes one step per value.
    with connections[db].cursor() as cursor:
        name, table = (cursor.db.ops.quote_name(each) for each in (Session._meta.get_field(column).column, "sessions"))
        cursor.execute(
            f"WITH RECURSIVE step(value) AS (SELECT min({name}) FROM {table} UNION ALL "  # noqa: S608
            f"SELECT (SELECT min({name}) FROM {table} WHERE {name} > step.value) "
            "FROM step WHERE step.value IS NOT NULL) "
            f"SELECT value FROM step WHERE value IS NOT NULL LIMIT {MOST}"
        )
        return [value for (value,) in cursor.fetchall()]
