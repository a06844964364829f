"""Verdicts of several people at the same time: each thread has its own connection to one real file."""

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


def elsewhere(function, *args, **kwargs):
    """What the function answers, or how it was refused; its thread leaves no connection open."""
    try:
        return function(*args, **kwargs)
    except Refused as refused:
        return refused.sentence
    finally:
        connections.close_all()
