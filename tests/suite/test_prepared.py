"""Cached databases equal those that the product makes.

Everything is migrated here once, and compared with the copies.
"""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from agents import databases
from openclaw_web.sqlite import connection_tuning
from tests.operations.backups import backup_homes
from tests.suite import fixture_cache

SEEN = {"django_migrations": "app, name"}  # its rows also have the time of the migration


def read_contents(file):
    """Tables and indexes of a database, and all of its rows."""
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as db:
        schema = sorted(db.execute("SELECT type, name, sql FROM sqlite_schema").fetchall(), key=repr)
        names = [name for kind, name, _sql in schema if kind == "table" and name != "sqlite_sequence"]
        rows = {name: db.execute(f'SELECT {SEEN.get(name, "*")} FROM "{name}"').fetchall() for name in names}
        return {"schema": schema, "vacuum": db.execute("PRAGMA auto_vacuum").fetchone()} | {
            name: sorted(table_rows, key=repr) for name, table_rows in rows.items()
        }


def test_the_databases_are_those_that_migrating_makes(tmp_path):
    assert backup_homes.run(tmp_path / "home", "migrate", "-v0")[0] == 0
    made = read_contents(tmp_path / "home" / "state" / "openclaw.sqlite")
    assert len(made["schema"]) > 100 and len(made["django_migrations"]) > 10 and made["vacuum"] == (2,)
    assert made == read_contents(fixture_cache.databases() / "default.sqlite")


def test_an_agents_file_is_one_that_was_built(tmp_path, django_db_blocker):
    with django_db_blocker.unblock():
        databases.build_empty(tmp_path / "agent.sqlite")
    assert read_contents(tmp_path / "agent.sqlite") == read_contents(fixture_cache.databases() / "agent.sqlite")


def test_a_first_command_makes_the_tables_that_migrating_makes(tmp_path):
    assert backup_homes.run(tmp_path / "home", "jobs")[0] == 0
    made = read_contents(tmp_path / "home" / "state" / "openclaw.sqlite")
    migrated = read_contents(fixture_cache.databases() / "default.sqlite")
    for database in (made, migrated):  # Django made this table anew, with its columns in another order
        database["schema"] = [row for row in database["schema"] if row[:2] != ("table", "auth_permission")]
    assert [made[part] for part in ("schema", "django_migrations")] == [
        migrated[part] for part in ("schema", "django_migrations")
    ]


def test_an_agents_file_has_the_tables_that_migrating_makes(tmp_path, django_db_blocker):
    file = tmp_path / "agent.sqlite"
    with django_db_blocker.unblock():
        databases._register("agent__migrated", file, is_new=True)
        databases._migrate("agent__migrated")
        connection_tuning.shorten_log("agent__migrated")
        databases.remove_alias("agent__migrated")
    assert read_contents(file) == read_contents(fixture_cache.databases() / "agent.sqlite")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one table."""
    monkeypatch.setattr(fixture_cache, "CHECKOUT", tmp_path)
    monkeypatch.setattr(fixture_cache, "FOLDER", tmp_path / ".prepared")
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "models.py").write_text("one")
    return tmp_path


def test_it_is_made_once_for_files_as_they_are(checkout):
    made = []

    def make(folder):
        made.append(folder)
        folder.mkdir()

    first = fixture_cache.prepare_folder("x", fixture_cache.OF_TABLES, make)
    assert fixture_cache.prepare_folder("x", fixture_cache.OF_TABLES, make) == first and len(made) == 1
    (checkout / "ledger" / "models.py").write_text("two")
    assert fixture_cache.prepare_folder("x", fixture_cache.OF_TABLES, make) != first and len(made) == 2
    assert first.exists()
    os.utime(first, (0, 0))
    (checkout / "ledger" / "models.py").write_text("three")
    fixture_cache.prepare_folder("x", fixture_cache.OF_TABLES, make)
    assert not first.exists()


def test_what_was_killed_while_it_was_made_is_made_again(checkout):
    def dies(folder):
        folder.mkdir()
        raise KeyboardInterrupt

    def make(folder):
        folder.mkdir()
        (folder / "whole").touch()

    with pytest.raises(KeyboardInterrupt):
        fixture_cache.prepare_folder("x", fixture_cache.OF_TABLES, dies)
    made = fixture_cache.prepare_folder("x", fixture_cache.OF_TABLES, make)
    assert [file.name for file in made.iterdir()] == ["whole"]
    shutil.rmtree(made)
