"""Several threads that label at the same time, each with its own connection.

All connections open one real file.
"""

import sqlite3
from contextlib import closing

import pytest
from django.db import connections

from openclaw_web.errors import Refused


@pytest.fixture
def global_file(monkeypatch, tmp_path, db):
    """A real file as the global database of every other thread."""
    file = tmp_path / "global.sqlite"
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%%'", [])
        schema = ";".join(sql for (sql,) in cursor.fetchall())
    with closing(sqlite3.connect(file)) as copy:
        copy.executescript(schema)
    entry = {**connections.settings["default"], "NAME": file}
    monkeypatch.setattr(connections, "settings", {**connections.settings, "default": entry})


def call_and_close(function, *args, **kwargs):
    """Call a function; return its result, or the sentence of its refusal.

    For functions that run in another thread: its connections are closed afterwards.
    """
    try:
        return function(*args, **kwargs)
    except Refused as refused:
        return refused.sentence
    finally:
        connections.close_all()
