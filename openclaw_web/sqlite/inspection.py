"""A look into one of our own database files while it is in use. What only SQLite can say stays here."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from django.db import Error

from .. import reasons
from . import failures, files, statements

# What stands beside the tables of the global file: the triggers that it makes have to be there.
BESIDE_TABLES = ("people.migrations._sql", "datasets.migrations._sql")
TRIGGER = re.compile(r"CREATE TRIGGER (\w+)")


@dataclass(slots=True)
class FileState:
    """What a file holds: `damage` is empty when its pages fit together; migrations as (app, name)."""

    damage: str = ""
    migrations: set[tuple[str, str]] = field(default_factory=set)
    triggers: dict[str, str] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)


def inspect_file(file: Path, *, is_deep: bool = False) -> FileState:
    """Look into a database. `is_deep` also compares every index with its table."""
    found = FileState()
    try:
        with files.open_database(file) as db:
            check = "integrity_check(1)" if is_deep else "quick_check(1)"
            (answer,) = db.execute(f"PRAGMA {check}").fetchone()
            found.damage = "" if answer == "ok" else failures.translate_message(answer)
            rows = db.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
            found.tables = {name for kind, name, _sql in rows if kind == "table"}
            found.triggers = {name: sql for kind, name, sql in rows if kind == "trigger"}
            if "django_migrations" in found.tables:
                found.migrations = set(db.execute("SELECT app, name FROM django_migrations"))
    except Error as exc:
        found.damage = reasons.describe_error(exc)
    return found


def read_session_ids(file: Path) -> list[str]:
    """The sessions of an agent's file, whatever its schema and whoever knows it; none when it is damaged."""
    return [session_id for (session_id,) in _asked(file, "SELECT id FROM sessions ORDER BY id") or []]


def read_record_count(file: Path) -> int | None:
    """How many records the sessions of an agent's file say they have; None when it cannot be read."""
    found = _asked(file, "SELECT coalesce(sum(record_count), 0) FROM sessions")
    return found[0][0] if found else None


def have_rows(file: Path, places: Sequence[str]) -> list[bool] | None:
    """Whether there is a row in each of some places (`table WHERE condition`); None when the file cannot be read."""
    places = [f"EXISTS (SELECT 1 FROM {place})" for place in places]  # noqa: S608 - our own words
    found = _asked(file, f"SELECT {', '.join(places)}") if places else [()]
    return [bool(answer) for answer in found[0]] if found else None


def read_data_version(db: str) -> int:
    """A number that stays the same until another connection writes to the file of an alias."""
    row = statements.read_row(db, "PRAGMA data_version")
    return row[0] if row else 0


def holds_only(file: Path, rows: dict[str, str]) -> bool:
    """Whether tables hold no rows but those for which the condition given for them is true; False when damaged."""
    try:
        with files.open_database(file) as db:
            used = ((name, rows.get(name, "FALSE")) for name in files.list_tables(db))
            queries = [f'SELECT 1 FROM "{name}" WHERE NOT ({which}) LIMIT 1' for name, which in used]  # noqa: S608
            return not any(db.execute(query).fetchone() for query in queries)
    except Error:
        return False


def build_triggers() -> dict[str, str]:
    """The triggers of the global file by name, with the SQL that makes each."""
    made: list[str] = []
    recorder = SimpleNamespace(connection=SimpleNamespace(vendor="sqlite"), execute=made.append)
    for name in BESIDE_TABLES:
        import_module(name).add(None, recorder)
    named = ((TRIGGER.match(sql), sql) for sql in made)
    return {match[1]: sql for match, sql in named if match}


def _asked(file, query):
    """All rows of a query; None when the file is damaged."""
    try:
        with files.open_database(file) as db:
            return db.execute(query).fetchall()
    except Error:
        return None
