"""SQLite's own SQL, for statements that are written by hand, and the version of the library."""

import sqlite3

MAIN, ATTACHED = "main", "beside"  # the file of a connection, and one that is attached to it (upkeep.attach_database)
TEMPORARY = "temp"  # tables of a connection, which hide those of its file of the same names
INSERT_OR_LEAVE, INSERT_OR_REPLACE = "INSERT OR IGNORE", "INSERT OR REPLACE"
# Fails as INSERT does, but does not keep the pages of each statement to take it back: a table with triggers is filled
# in half the time. The rows of a failed statement before the wrong one stay until the transaction is rolled back.
INSERT_OR_FAIL = "INSERT OR FAIL"


def refuse(sentence: str, *, is_row_absent: bool = False) -> str:
    """SQL: the body of a trigger that refuses a change.

    With `is_row_absent` the trigger stands before the insert of a row: see INSERT_OR_FAIL.
    """
    return f"BEGIN SELECT RAISE({'FAIL' if is_row_absent else 'ABORT'}, '{sentence}'); END"


def differ(first: str, second: str) -> str:
    """SQL: whether two values differ, where null equals null."""
    return f"{first} IS NOT {second}"


def count_if(condition: str) -> str:
    """SQL: the number of rows in a group that meet a condition."""
    return f"SUM({condition})"


def json_text(column: str, key: str) -> str:
    """SQL: a text from a JSON object."""
    return f"json_extract({column}, '$.{key}')"


def json_item(column: str, place: int) -> str:
    """SQL: an item of a JSON array."""
    return f"json_extract({column}, '$[{place}]')"


def unindexed(column: str) -> str:
    """SQL: a column that is only checked, so that no index of it is chosen."""
    return f"+{column}"


def by_index(name: str) -> str:
    """SQL: the index that a table is read by, behind the table's name."""
    return f"INDEXED BY {name}"


def json_array(name: str) -> str:
    """SQL: a table of the items of a JSON array that is a parameter.

    Its column `value` holds the items.
    """
    return f"json_each(%s) AS {name}"


def json_column_items(column: str, name: str) -> str:
    """SQL: a table of the items of a JSON array in a column.

    It is empty for invalid JSON.
    """
    return f"json_each(CASE WHEN json_valid({column}) THEN {column} END) AS {name}"


def read_library_version() -> str:
    """The version of the SQLite library that this Python uses."""
    return sqlite3.sqlite_version
