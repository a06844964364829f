"""The module that Django loads for `ENGINE`."""

from functools import lru_cache

from django.db.backends.sqlite3 import base

REMEMBERED = 256  # statements


class Cursor(base.SQLiteCursorWrapper):
    """A cursor that remembers how statements are spelled for SQLite.

    Django does it anew for each execution: 5 % of an import of many small sessions.
    """

    def convert_query(self, query, *, param_names=None):
        """Return the statement with SQLite's placeholders."""
        if param_names is not None:
            return super().convert_query(query, param_names=param_names)
        return _convert(query)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose cursors are `Cursor`."""

    def create_cursor(self, name=None):
        """Return a cursor of the connection."""
        return self.connection.cursor(factory=Cursor)


@lru_cache(REMEMBERED)
def _convert(query):
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")
