"""Caches fixtures of many tests per checkout: databases, homes, compiled templates.

They are in `.prepared/` of the checkout, in folders named after the files that they were made from: after a change of a
migration or a table there is none, so it is made again. `tests/suite/test_prepared.py` checks that copies equal what
migrating makes.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / ".prepared"
KEPT_SECONDS = 24 * 3600  # how long an unused folder stays: another test run may still copy it
# Files that decide the tables and the first rows of a new home.
OF_TABLES = (
    *("*/migrations/*.py", "*/models.py", "*/models/*.py", "*/fields.py", "openclaw_web/sqlite/*.py"),
    *("openclaw_web/settings.py", "agents/databases.py", "agents/routers.py", "requirements-test.lock"),
    *("episodes/chain/triggers.py", "tests/suite/fixture_cache.py"),
)
# Files that decide what `serve` adds: static files with hashes in their names, compiled templates.
OF_SITE = (*OF_TABLES, "static/**/*", "templates/**/*.html", "openclaw_web/pages/*.py", "operations/server/*.py")
OF_TEMPLATES = (
    "openclaw_web/pages/templates.py",
    "tests/openclaw_web/templates/strict_templates.py",
    "requirements-test.lock",
)
MIGRATE = """
import django
django.setup()
from django.core.management import call_command
from agents import databases
call_command("migrate", verbosity=0)
databases._template()
"""


def databases():
    """The folder of two empty databases, `default.sqlite` and `agent.sqlite`."""
    return prepare_folder("databases", OF_TABLES, _make_databases)


def home():
    """The folder of an unused home, with the empty file for new agents."""
    return prepare_folder("home", OF_TABLES, _make_home)


def copy_home(place):
    """Copy that home to `place`; return the copy."""
    return shutil.copytree(home(), place, dirs_exist_ok=True)


def served_home():
    """The folder of such a home with collected static files and compiled templates."""
    # A site collects its static files again when their times differ, as in a copy of a checkout.
    times = [file.stat().st_mtime_ns for file in sorted(CHECKOUT.glob("static/**/*"))]
    return prepare_folder("served", OF_SITE, _make_served, values=times)


def templates():
    """The folder for templates that tests have compiled."""
    return prepare_folder("templates", OF_TEMPLATES, Path.mkdir)


def fill_connection(connection, file):
    """Replace a connection's database in memory with a copy of `file`, as after `create_test_db`."""
    name = connection.creation._get_test_db_name()
    connection.close()
    connection.settings_dict["NAME"] = name
    connection.ensure_connection()
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as source:
        source.backup(connection.connection)


def prepare_folder(name, patterns, make, values=()):
    """The folder `name` for the current files and these values; if it is missing, one process makes it.

    It is made in a draft and renamed, so that it is always whole.
    """
    place = FOLDER / f"{name}-{fingerprint(patterns, values)}"
    with _lock_folder(name):
        if not place.exists():
            _remove_old_folders(name)
            draft = FOLDER / f"{name}.draft"
            shutil.rmtree(draft, ignore_errors=True)
            make(draft)
            draft.rename(place)
        os.utime(place)
    return place


def fingerprint(patterns, values=()):
    """A hash of all files that match these patterns, of the versions that read them, and of further values."""
    digest = hashlib.sha256(f"{sys.version} {sqlite3.sqlite_version} {values}".encode())
    for file in sorted({file for pattern in patterns for file in CHECKOUT.glob(pattern) if file.is_file()}):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(CHECKOUT)} {content}\n".encode())
    return digest.hexdigest()[:16]


@contextmanager
def _lock_folder(name):
    """Hold off the other workers of a test run."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    with (FOLDER / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_old_folders(name):
    """Remove folders made of other files, unless they may be in use."""
    for old in FOLDER.glob(f"{name}-*"):
        if old.stat().st_mtime < time.time() - KEPT_SECONDS:
            shutil.rmtree(old)


def _make_home(folder):
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("OPENCLAW", "DJANGO"))}
    places = {"OPENCLAW_WEB_HOME": str(folder), "OPENCLAW_STATE_DIR": str(folder / "no-openclaw-here")}
    settings = {"DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    subprocess.run([sys.executable, "-c", MIGRATE], cwd=CHECKOUT, env=inherited | places | settings, check=True)


def _make_databases(folder):
    state = home() / "state"
    (template,) = state.glob("agent-template-*.sqlite")
    folder.mkdir(mode=0o700)
    for source, name in ((state / "openclaw.sqlite", "default"), (template, "agent")):
        copy = shutil.copyfile(source, folder / f"{name}.sqlite")
        with closing(sqlite3.connect(copy)) as db:
            # In memory there is no -wal, and pages have the size that a connection begins with.
            for words in ("PRAGMA journal_mode=DELETE", "PRAGMA page_size=4096", "VACUUM"):
                db.execute(words)


def _make_served(folder):
    from tests import processes  # not above: it needs none of this

    site = processes.Home.copied(home(), folder)
    server = site.serve()
    server.address()
    server.signal(signal.SIGTERM)
    assert server.end() == 0, server.said
    site.close()
    # A process that ends a moment later would remove files while tests copy them.
    with closing(sqlite3.connect(folder / "state" / "openclaw.sqlite")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    processes.wait_for(lambda: not list(folder.glob("state/*-wal")))
