"""The values that columns of sessions take, found by hopping through their indexes, however many rows there are."""

from openclaw_web.sqlite import statements

MOST = 50
# A DISTINCT would walk through every row; this takes one step per value.
VALUES = (
    "SELECT '{0}', value FROM (WITH RECURSIVE step(value) AS (SELECT min({0}) FROM sessions UNION ALL "
    "SELECT (SELECT min({0}) FROM sessions WHERE {0} > step.value) FROM step WHERE step.value IS NOT NULL) "
    "SELECT value FROM step WHERE value IS NOT NULL LIMIT {1}) AS {0}_values"
)


def values_of(db: str, columns: list[str]) -> dict[str, list[str]]:
    """The first MOST values of each of these indexed columns of sessions, in order."""
    found: dict[str, list[str]] = {column: [] for column in columns}
    for column, value in statements.rows(db, " UNION ALL ".join(VALUES.format(column, MOST) for column in columns)):
        found[column].append(value)
    return found
