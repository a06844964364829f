"""The module that Django loads for `ENGINE`."""

from functools import lru_cache

from django.db.backends.sqlite3 import base

REMEMBERED = 256  # statements


@lru_cache(REMEMBERED)
def spell_placeholders(query, *, param_names=None):
    """Return a statement with SQLite's placeholders; no statement of ours has named ones.

    Django does it anew for each execution: 5 % of an import of many small sessions.
    """
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class Cursor(base.SQLiteCursorWrapper):
    """A cursor that remembers how statements are spelled for SQLite."""

    convert_query = staticmethod(spell_placeholders)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose cursors are `Cursor`."""

    def create_cursor(self, name=None):
        """Return a cursor of the connection."""
        return self.connection.cursor(factory=Cursor)
