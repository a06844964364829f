"""Inspects one of our own database files while it is in use."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from django.db import Error
from django.db.models import Model

from .. import reasons
from . import failures, files, statements

# Migrations with the triggers of the global file.
BESIDE_TABLES = ("people.migrations._sql", "datasets.migrations._sql", "datasets.migrations._collection_sql")
TRIGGER = re.compile(r"CREATE TRIGGER (\w+)")
LARGEST_NUMBER = 2**62  # of a row: half of what SQLite can count to


@dataclass(slots=True)
class FileState:
    """The state of a file: damage, migrations as (app, name), triggers and tables.

    `damage` is empty when the pages of the file are consistent.
    """

    damage: str = ""
    migrations: set[tuple[str, str]] = field(default_factory=set)
    triggers: dict[str, str] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)


def inspect_file(file: Path, *, is_deep: bool = False) -> FileState:
    """Inspect a database file. `is_deep` also compares every index with its table."""
    state = FileState()
    try:
        with files.open_database(file) as db:
            check = "integrity_check(1)" if is_deep else "quick_check(1)"
            (answer,) = db.execute(f"PRAGMA {check}").fetchone()
            state.damage = "" if answer == "ok" else failures.translate_message(answer)
            rows = db.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
            state.tables = {name for kind, name, _sql in rows if kind == "table"}
            state.triggers = {name: sql for kind, name, sql in rows if kind == "trigger"}
            if "django_migrations" in state.tables:
                state.migrations = set(db.execute("SELECT app, name FROM django_migrations"))
    except Error as exc:
        state.damage = reasons.describe_error(exc)
    return state


def read_kind(db: str, name: str) -> str:
    """The kind of what has a name: `table`, `view`, or "" for nothing.

    Names are compared as SQLite does, in any case.
    """
    sql = "SELECT type FROM sqlite_schema WHERE type IN ('table', 'view') AND lower(name) = lower(%s)"
    row = statements.read_row(db, sql, [name])
    return row[0] if row else ""


def is_removed(db: str, model: type[Model]) -> bool:
    """Whether an operator dropped the table of a model, as its documentation allows."""
    return getattr(model, "is_removable", False) and not read_kind(db, model._meta.db_table)


def find_table_damage(db: str, table: str) -> str:
    """Describe the damage of a table and its indexes; empty if there is none."""
    row = statements.read_row(db, f"PRAGMA integrity_check({table})")
    return "" if row is None or row[0] == "ok" else str(row[0])


def read_last_number(db: str, table: str) -> int:
    """The largest number that a table with AUTOINCREMENT ever gave a row; 0 if none.

    Raises ValueError where that is no number, or leaves none for further rows.
    """
    row = statements.read_row(db, "SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
    number = row[0] if row else 0
    if type(number) is not int or not 0 <= number < LARGEST_NUMBER:
        raise ValueError(number)
    return number


def read_parts(db: str, kind: str, tables: Sequence[str]) -> dict[str, str]:
    """The triggers or indexes (`kind`) of tables as name and SQL, however somebody spelled the tables."""
    sql = "SELECT name, sql FROM sqlite_schema WHERE type = %s AND lower(tbl_name) = lower(%s) AND sql IS NOT NULL"
    return {name: text for table in tables for name, text in statements.read_rows(db, sql, [kind, table])}


def read_session_ids(file: Path) -> list[str]:
    """The sessions of an agent's file of any schema; none when it is damaged."""
    return [session_id for (session_id,) in _query(file, "SELECT id FROM sessions ORDER BY id") or []]


def read_record_count(file: Path) -> int | None:
    """The number of records of an agent's file, from its sessions; None if unreadable."""
    result = _query(file, "SELECT coalesce(sum(record_count), 0) FROM sessions")
    return result[0][0] if result else None


def have_rows(file: Path, places: Sequence[str]) -> list[bool] | None:
    """Whether each of some places (`table WHERE condition`) has a row.

    None when the file cannot be read.
    """
    places = [f"EXISTS (SELECT 1 FROM {place})" for place in places]  # noqa: S608 - our own words
    result = _query(file, f"SELECT {', '.join(places)}") if places else [()]
    return [bool(answer) for answer in result[0]] if result else None


def read_data_version(db: str) -> int:
    """A number that changes when another connection writes to the file of an alias."""
    row = statements.read_row(db, "PRAGMA data_version")
    return row[0] if row else 0


def holds_only(file: Path, rows: dict[str, str]) -> bool:
    """Whether tables hold only the rows that `rows` allows; False for a damaged file.

    `rows` maps tables to conditions; other tables have to be empty.
    """
    try:
        with files.open_database(file) as db:
            used = ((name, rows.get(name, "FALSE")) for name in files.list_tables(db))
            queries = [f'SELECT 1 FROM "{name}" WHERE NOT ({condition}) LIMIT 1' for name, condition in used]  # noqa: S608
            return not any(db.execute(query).fetchone() for query in queries)
    except Error:
        return False


def build_triggers() -> dict[str, str]:
    """The triggers of the global file by name, with the SQL that creates each."""
    sql_texts: list[str] = []
    recorder = SimpleNamespace(connection=SimpleNamespace(vendor="sqlite"), execute=sql_texts.append)
    for name in BESIDE_TABLES:
        import_module(name).add(None, recorder)
    named = ((TRIGGER.match(sql), sql) for sql in sql_texts)
    return {match[1]: sql for match, sql in named if match}


def _query(file, query):
    """All rows of a query; None when the file is damaged."""
    try:
        with files.open_database(file) as db:
            return db.execute(query).fetchall()
    except Error:
        return None
