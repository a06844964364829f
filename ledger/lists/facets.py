"""The values of indexed columns, read by one index step each however many rows there are."""

from django.db import OperationalError

from openclaw_web.lists.list_counts import RowCount
from openclaw_web.sqlite import statements
from openclaw_web.sqlite.time_limits import time_box

MOST = 50
COUNTED_UP_TO = 3_000  # rows of each value: the numbers stand in every page of the list
# A DISTINCT would walk through every row; this takes one step per value.
VALUES = (
    "SELECT '{0}', value FROM (WITH RECURSIVE step(value) AS (SELECT min({0}) FROM {2} UNION ALL "
    "SELECT (SELECT min({0}) FROM {2} WHERE {0} > step.value) FROM step WHERE step.value IS NOT NULL) "
    "SELECT value FROM step WHERE value IS NOT NULL LIMIT {1}) AS {0}_values"
)
# How many rows have each value, from its index alone.
COUNTED = (
    "WITH RECURSIVE step(value) AS (SELECT min({0}) FROM {3} UNION ALL "
    "SELECT (SELECT min({0}) FROM {3} WHERE {0} > step.value) FROM step WHERE step.value IS NOT NULL) "
    "SELECT value, (SELECT count(*) FROM (SELECT 1 FROM {3} WHERE {0} = step.value LIMIT {2}) AS some) "
    "FROM step WHERE value IS NOT NULL LIMIT {1}"
)


def read_values(db: str, columns: list[str], table: str = "sessions") -> dict[str, list[str]]:
    """The first MOST values of each of these indexed columns of a table, in order."""
    values: dict[str, list[str]] = {column: [] for column in columns}
    query = " UNION ALL ".join(VALUES.format(column, MOST, table) for column in columns)
    for column, value in statements.read_rows(db, query):
        values[column].append(value)
    return values


def count_values(db: str, column: str, budget_ms: int, table: str = "sessions") -> dict[str, RowCount] | None:
    """How many rows have each value of an indexed column, up to COUNTED_UP_TO.

    None when counting takes longer than `budget_ms` milliseconds.
    """
    query = COUNTED.format(column, MOST, COUNTED_UP_TO + 1, table)
    with time_box(db, budget_ms) as is_up:
        try:
            rows = statements.read_rows(db, query)
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return None
    return {value: RowCount(min(count, COUNTED_UP_TO), count > COUNTED_UP_TO) for value, count in rows}
