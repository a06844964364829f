"""A copy of one of OpenClaw's databases, opened so that only allow-listed columns can be read. No Django."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .database_tables import Tables
from .jsonl import MAX_LINE

PRAGMAS = frozenset({"table_info", "quick_check", "user_version", "query_only", "ignore_check_constraints"})
ACTIONS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION})
CATALOGUE = {"type", "name", "rootpage"}
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"  # virtual ones have no page
NAME = re.compile(r"[a-z_]+")
MAX_VALUE = 4 * MAX_LINE  # bytes of one value: archives are bigger than records


class Damaged(Exception):
    """The file is no database, or its pages do not fit together."""


class Database:
    """Read-only access by name: a table or column that is missing reads as empty, one that is not allowed never.

    Texts come as bytes: what is not UTF-8 is for the caller to judge. Use it as a context manager.
    """

    def __init__(self, file: Path | sqlite3.Connection, tables: Tables):
        """Open `file`, a private copy, or take a connection to one for this alone.

        Raises Damaged when SQLite cannot make sense of it.
        """
        self.allowed = tables
        try:
            self._connection = (
                sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True) if isinstance(file, Path) else file
            )
        except sqlite3.Error as exc:
            raise Damaged(str(exc)) from exc
        try:
            self._prepare()
        except sqlite3.Error as exc:
            self.close()
            raise Damaged(str(exc)) from exc

    def _prepare(self):
        self._connection.text_factory = bytes
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        self._connection.set_authorizer(self._may)
        self._connection.execute("PRAGMA query_only=ON")
        # Checks call functions that this SQLite may not know; what they promise is looked at here anyway.
        self._connection.execute("PRAGMA ignore_check_constraints=ON")
        names = {name for (name,) in self._connection.execute(TABLES)}
        self.columns = {
            table: frozenset(wanted).intersection(self._columns_of(table))
            for table, wanted in self.allowed.items()
            if table.encode() in names
        }
        self.version = self._connection.execute("PRAGMA user_version").fetchone()[0]

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file up."""
        self._connection.close()

    def check(self) -> None:
        """Have SQLite look at every page. Raises Damaged with its first complaint."""
        try:
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as exc:
            raise Damaged(str(exc)) from exc
        if found != (b"ok",):
            raise Damaged(found[0].decode(errors="replace") if found else "no answer")

    def has(self, table: str, *columns: str) -> bool:
        """Whether the table is there with all of these columns."""
        return table in self.columns and self.columns[table].issuperset(columns)

    def rows(
        self, table: str, *columns: str, where: str = "", values: tuple[Any, ...] = (), order: str = ""
    ) -> Iterator[tuple[Any, ...]]:
        """Rows with these columns (None for one that is missing); none without the table, or what `where` names of it.

        `where` is SQL of this package, `order` a column. Raises Damaged when SQLite stumbles.
        """
        if table not in self.columns:
            return iter(())
        known = self.columns[table]
        if not known.issuperset(set(NAME.findall(where)).intersection(self.allowed[table])):
            return iter(())
        order = order if order in known else ""
        names = ", ".join(name if name in known else "NULL" for name in columns)
        condition = f" WHERE {where}" if where else ""
        return self.ask(f"SELECT {names} FROM {table}{condition}{f' ORDER BY {order}' if order else ''}", values)  # noqa: S608 - names are constants of this package

    def ask(self, sql: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query of this package. Raises Damaged when SQLite stumbles."""
        try:
            yield from self._connection.execute(sql, values)
        except (sqlite3.Error, UnicodeError) as exc:
            raise Damaged(str(exc)) from exc

    def _columns_of(self, table):
        return {row[1].decode(errors="replace") for row in self._connection.execute(f'PRAGMA table_info("{table}")')}

    def _may(self, action, first, second, _database, _trigger):
        """SQLite asks for every table and column while it prepares a query."""
        if action in ACTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA:
            return sqlite3.SQLITE_OK if first in PRAGMAS else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ:
            allowed = CATALOGUE if first == "sqlite_master" else self.allowed.get(first, ())
            return sqlite3.SQLITE_OK if not second or second in allowed else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_DENY
