"""Copies of OpenClaw's databases with the allowed tables and columns only.

A copy is kept and changed by key, so that a new row changes few of its pages. It never contains pages of its source.
"""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import Extract, Tables
from openclaw_web.sqlite import failures

from .opt_outs import RowFilters

# The copy is a draft that nobody reads, so it needs no journal. Freed bytes are overwritten with zeros.
OPTIONS = ("journal_mode=OFF", "synchronous=OFF", "secure_delete=ON", "temp_store=MEMORY", "trusted_schema=OFF")
ROWID = "rowid"
SCHEMA = "SELECT name, sql FROM main.sqlite_master WHERE sql NOT NULL ORDER BY name"


@dataclass(frozen=True, slots=True)
class _TableCopy:
    """One table of a copy: its columns with the SQL of their values, and those that identify a row."""

    name: str
    columns: dict[str, str]
    key: tuple[str, ...]
    index: tuple[str, ...]  # the source's own key, by which readers find rows
    where: str

    @property
    def schema(self) -> Iterator[tuple[str, str]]:
        """The name and the SQL of the table and of its index, by name."""
        columns = ", ".join(self.columns)
        if self.key != (ROWID,):
            columns += f", PRIMARY KEY ({', '.join(self.key)})) WITHOUT ROWID"
            yield self.name, f"CREATE TABLE {self.name} ({columns}"
            return
        yield self.name, f"CREATE TABLE {self.name} ({columns})"
        if self.index:
            name = f"{self.name}_key"
            yield name, f"CREATE INDEX {name} ON {self.name} ({', '.join(self.index)})"

    def changes(self) -> Iterator[str]:
        """Yield the statements that remove, change and add the rows that differ."""
        names = tuple(dict.fromkeys((*self.key, *self.columns)))
        values = ", ".join(f"{self.columns.get(name, name)} AS {name}" for name in names)
        rows = f"(SELECT {values} FROM source.{self.name} WHERE {self.where}) AS other"  # noqa: S608 - names of this package
        same = " AND ".join(f"{self.name}.{name} = other.{name}" for name in self.key)
        yield f"DELETE FROM main.{self.name} WHERE NOT EXISTS (SELECT 1 FROM {rows} WHERE {same})"  # noqa: S608
        others = [name for name in self.columns if name not in self.key]
        if others:
            changed = ", ".join(f"{name} = other.{name}" for name in others)
            differs = " OR ".join(f"{self.name}.{name} IS NOT other.{name}" for name in others)
            yield f"UPDATE main.{self.name} SET {changed} FROM {rows} WHERE {same} AND ({differs})"  # noqa: S608
        into = f"INSERT INTO main.{self.name} ({', '.join(names)}) SELECT {', '.join(names)} FROM {rows}"  # noqa: S608
        yield f"{into} WHERE NOT EXISTS (SELECT 1 FROM main.{self.name} WHERE {same}) ORDER BY {', '.join(self.key)}"  # noqa: S608


class Change(NamedTuple):
    """Whether a copy changed, and the names of tables that were left out."""

    is_changed: bool
    left_out: list[str]


def update_copy(
    source: Path, draft: Path, tables: Tables, extracts: tuple[Extract, ...] = (), filters: RowFilters | None = None
) -> Change:
    """Bring `draft` to the content of `source`, a private copy of a database.

    `draft` is missing, or an earlier result. Raises DamagedDatabase, and OSError when the disk is full.
    """
    closed = {extract.table: (*extract.columns, *extract.filters) for extract in extracts}
    with Database(source, {**tables, **closed}) as database:
        database.check()
        left_out = [name for name in database.computed if name in database.allowed]
        left_out += [name for name in database.columns if ROWID in database.tables[name]]
        columns = {name: sorted(known) for name, known in database.columns.items() if known and name not in left_out}
        version = database.version
    closed_rows = {extract.table: extract.where for extract in extracts}
    try:
        with closing(_open(draft, source)) as connection:
            for name, function in filters.functions.items() if filters else ():
                connection.create_function(name, -1, function)
            copies = []
            for name, known in sorted(columns.items()):
                key, index = _find_key(connection, name, known)
                where = closed_rows.get(name, "1")
                if filters:
                    where += f" AND {filters.get_where(name, known)}"
                values = {column: filters.get_value(name, column) if filters else column for column in known}
                if key:
                    copies.append(_TableCopy(name, values, key, index, where))
                else:
                    left_out.append(name)
            is_changed = _sync(connection, copies, version)
    except _OtherLayout:
        draft.unlink()
        return update_copy(source, draft, tables, extracts, filters)
    except sqlite3.Error as exc:
        if failures.is_full(exc):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(draft)) from exc
        raise DamagedDatabase(str(exc)) from exc
    return Change(is_changed, left_out)


class _OtherLayout(Exception):
    """The copy has other tables than it should have."""


def _open(draft, source):
    connection = sqlite3.connect(draft.absolute().as_uri(), uri=True, isolation_level=None)
    try:
        for option in OPTIONS:
            connection.execute(f"PRAGMA {option}")
        connection.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?mode=ro",))
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _find_key(connection, name, columns):
    """The columns that identify a row in the copy, and those by which readers find rows there."""
    rows = connection.execute(f"PRAGMA source.table_xinfo({name})").fetchall()
    own = tuple(row[1] for row in sorted((row for row in rows if row[5]), key=lambda row: row[5]))
    index = own if set(own) <= set(columns) else ()
    try:
        connection.execute(f"SELECT {ROWID} FROM source.{name} LIMIT 0")  # noqa: S608 - a name of this package
    except sqlite3.OperationalError:  # a table without row numbers
        return index, ()
    return (ROWID,), index


def _sync(connection, copies, version):
    schema = sorted(part for copy in copies for part in copy.schema)
    present = connection.execute(SCHEMA).fetchall()
    if present and present != schema:
        raise _OtherLayout
    connection.execute("BEGIN")
    for _name, sql in () if present else schema:
        connection.execute(sql)
    for copy in copies:
        for statement in copy.changes():
            connection.execute(statement)
    is_changed = connection.total_changes > 0 or not present
    if connection.execute("PRAGMA main.user_version").fetchone()[0] != version:
        connection.execute(f"PRAGMA main.user_version={version}")
        is_changed = True
    connection.execute("COMMIT")
    return is_changed
