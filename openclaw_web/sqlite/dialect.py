"""Words of SQL that only SQLite knows, or means in its own way: statements that are written out take them from here."""

MAIN, ATTACHED = "main", "beside"  # the file of a connection, and one that is attached to it (upkeep.beside)
INSERT_OR_LEAVE, INSERT_OR_REPLACE = "INSERT OR IGNORE", "INSERT OR REPLACE"


def differ(one: str, other: str) -> str:
    """Whether two values are not the same, where nothing is the same as nothing."""
    return f"{one} IS NOT {other}"


def count_if(condition: str) -> str:
    """How many rows of a group fit."""
    return f"SUM({condition})"


def json_text(column: str, key: str) -> str:
    """A text of a JSON object."""
    return f"json_extract({column}, '$.{key}')"


def unindexed(column: str) -> str:
    """A column that is only checked: no index of it is to be chosen."""
    return f"+{column}"


def json_array(name: str) -> str:
    """A table `name` whose column `value` has every item of a JSON array that is given as a value."""
    return f"json_each(%s) AS {name}"


def json_column_items(column: str, name: str) -> str:
    """The same of a JSON array in a column; none of a text that is no JSON."""
    return f"json_each(CASE WHEN json_valid({column}) THEN {column} END) AS {name}"
