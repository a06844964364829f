"""Opens a copy of an OpenClaw database, with access to allow-listed columns only.

No Django.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from .database_tables import Extract, Tables
from .jsonl import MAX_LINE

PRAGMAS = frozenset({"table_xinfo", "quick_check", "user_version", "query_only", "ignore_check_constraints"})
FUNCTIONS = frozenset({"count", "length", "max", "min", "sum", "typeof"})  # of queries of this package
GENERATED = frozenset({2, 3})  # how PRAGMA table_xinfo calls columns that SQLite computes, virtual or stored
CATALOGUE = {"type", "name", "rootpage"}
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"  # virtual ones have no page
VIRTUAL = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage = 0"
SHARED = "SELECT 1 FROM sqlite_master WHERE rootpage > 0 GROUP BY rootpage HAVING count(*) > 1"
NAME = re.compile(r"[a-z_]+")
OPENS_VIRTUAL = (3, 44)  # since this SQLite, the check of a file opens virtual tables, which the authorizer refuses
HIDE_VIRTUAL = (
    "BEGIN",
    "PRAGMA writable_schema=ON",
    "DELETE FROM sqlite_master WHERE type = 'table' AND rootpage = 0",
    "PRAGMA writable_schema=RESET",
)
MAX_VALUE = 4 * MAX_LINE  # bytes of one value: archives are bigger than records


class DamagedDatabase(Exception):
    """The file is no database, or its pages are inconsistent."""


class Database:
    """Read-only access by name to allowed tables and columns.

    A table or column that is missing reads as empty; one that is not allowed can never be read. Texts are returned as
    bytes, because they may not be UTF-8. A table with generated columns, which SQLite computes as the file says, counts
    as missing, and is among `computed`. Use it as a context manager.
    """

    def __init__(self, file: Path | sqlite3.Connection, tables: Tables, extracts: tuple[Extract, ...] = ()):
        """Open `file`, a private copy, or take over a connection to one.

        The rows of an extract are read by its name; other rows and columns of its table cannot be read. Raises
        DamagedDatabase when SQLite cannot read the file.
        """
        self.allowed = {**tables, **{extract.name: extract.columns for extract in extracts}}
        self._extracts = extracts
        self._uri = file.absolute().as_uri() if isinstance(file, Path) else ""
        try:
            self._connection = sqlite3.connect(f"{self._uri}?mode=ro", uri=True) if isinstance(file, Path) else file
        except sqlite3.Error as exc:
            raise DamagedDatabase(str(exc)) from exc
        try:
            self._prepare()
        except sqlite3.Error as exc:
            self.close()
            raise DamagedDatabase(str(exc)) from exc

    def _prepare(self):
        self._connection.text_factory = bytes
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        self._connection.set_authorizer(self._authorize)
        # Checks call functions that this SQLite may not know; this package checks every value itself.
        self._connection.execute("PRAGMA ignore_check_constraints=ON")
        columns_by_table = {
            name.decode(errors="replace"): self._read_columns(name) for (name,) in self._connection.execute(TABLES)
        }
        # A column that is computed may take for ever, and no progress handler is asked within a function.
        self.computed = sorted(name for name, columns in columns_by_table.items() if columns is None)
        self.tables = {name: columns for name, columns in columns_by_table.items() if columns is not None}
        self.virtual = [name.decode(errors="replace") for (name,) in self._connection.execute(VIRTUAL)]
        self.columns = {
            table: frozenset(allowed_columns).intersection(columns)
            for table, allowed_columns in self.allowed.items()
            if table not in {extract.name for extract in self._extracts}
            and (columns := columns_by_table.get(table)) is not None
        }
        self._copy_extracts()
        self._connection.execute("PRAGMA query_only=ON")
        self.version = self._connection.execute("PRAGMA user_version").fetchone()[0]

    def _copy_extracts(self):
        """Copy rows of closed tables into temporary ones, before the authorizer refuses those tables."""
        for extract in self._extracts:
            known = self.tables.get(extract.table, set())
            if not known.issuperset((*extract.columns, *extract.filters)):
                continue
            columns = ", ".join(f"{_build_bounded_sql(name, extract.most_bytes)} AS {name}" for name in extract.columns)
            sql = f"SELECT {columns} FROM main.{extract.table} WHERE {extract.where} LIMIT {extract.most_rows}"  # noqa: S608 - constants
            self._connection.set_authorizer(None)
            try:
                self._connection.execute("PRAGMA temp_store=MEMORY")
                self._connection.execute(f"CREATE TEMP TABLE {extract.name} AS {sql}")
            finally:
                self._connection.set_authorizer(self._authorize)
            self.columns[extract.name] = frozenset(extract.columns)

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def check(self) -> None:
        """Let SQLite check every page, and the tables that are read where columns are computed.

        Raises DamagedDatabase with its first message.
        """
        if next(self.ask(SHARED), None):
            raise DamagedDatabase("two tables have the same pages")
        parts = list(self.columns) if self.computed else ["1"]  # 1: the most faults of the file
        hides_virtual = (
            self._uri and self.virtual and not self.computed and sqlite3.sqlite_version_info >= OPENS_VIRTUAL
        )
        ask = self._ask_without_virtual if hides_virtual else self.ask
        for part in parts:
            answer = next(ask(f"PRAGMA quick_check({part})"), (b"no answer",))
            if answer != (b"ok",):
                raise DamagedDatabase(answer[0].decode(errors="replace"))

    def _ask_without_virtual(self, sql):
        """The rows of a query while the schema has no virtual tables.

        The copy stays as it is. A check of one table after the other would miss pages that two tables share.
        """
        try:
            with closing(sqlite3.connect(self._uri + "?mode=rw", uri=True, isolation_level=None)) as copy:
                copy.text_factory = bytes
                copy.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
                copy.execute("PRAGMA ignore_check_constraints=ON")
                for statement in HIDE_VIRTUAL:
                    copy.execute(statement)
                copy.set_authorizer(self._authorize)
                yield from copy.execute(sql).fetchall()  # closing rolls back
        except (sqlite3.Error, UnicodeError) as exc:
            raise DamagedDatabase(str(exc)) from exc

    def has(self, table: str, *columns: str) -> bool:
        """Whether a table exists with all of these columns."""
        return table in self.columns and self.columns[table].issuperset(columns)

    def rows(
        self, table: str, *columns: str, where: str = "", values: tuple[Any, ...] = (), order: str = ""
    ) -> Iterator[tuple[Any, ...]]:
        """Rows with these columns, None for a missing column.

        There are no rows without the table, or without a column that `where` names. `where` is SQL of this package,
        `order` a column. Raises DamagedDatabase when SQLite fails.
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

    def count(self, table: str) -> int:
        """How many rows a table of `tables` has, also one that may not be read.

        Raises DamagedDatabase when SQLite fails.
        """
        return next(self.ask(f"SELECT count(*) FROM {_quote(table)}"))[0]  # noqa: S608 - quoted

    def ask(self, sql: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query of this package. Raises DamagedDatabase when SQLite fails."""
        try:
            yield from self._connection.execute(sql, values)
        except (sqlite3.Error, UnicodeError) as exc:
            raise DamagedDatabase(str(exc)) from exc

    def _read_columns(self, table):
        """The names of its columns; None where one of them is computed."""
        quoted = _quote(table.decode(errors="replace"))
        rows = self._connection.execute(f"PRAGMA table_xinfo({quoted})").fetchall()
        if not rows or any(row[6] in GENERATED for row in rows):  # none: its name is no text
            return None
        return {row[1].decode(errors="replace") for row in rows}

    def _authorize(self, action, first, second, _database, _trigger):
        """The authorizer: SQLite calls it for every table and column of a query."""
        if action == sqlite3.SQLITE_SELECT:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_OK if second in FUNCTIONS else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA:
            return sqlite3.SQLITE_OK if first in PRAGMAS else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ:
            allowed = CATALOGUE if first == "sqlite_master" else self.allowed.get(first, ())
            return sqlite3.SQLITE_OK if not second or second in allowed else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_DENY


def _quote(name):
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def _build_bounded_sql(name, most_bytes):
    """SQL of a column without values that are too long."""
    return f"CASE WHEN length(CAST({name} AS BLOB)) <= {most_bytes} THEN {name} END"
