"""What many tests begin with, made once per checkout and copied: databases, homes of ours, compiled templates.

It is in `.prepared/` of the checkout, in folders named after what it was made from: whoever changes a migration or a
table finds none and has it made again. `tests/suite/test_prepared.py` says that copies are what migrating makes.
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
KEPT_SECONDS = 24 * 3600  # of what nobody asked for: another run of the tests may still copy it
# What tables are made from, and what is in them before anybody was there.
OF_TABLES = (
    *("*/migrations/*.py", "*/models.py", "*/models/*.py", "*/fields.py", "openclaw_web/sqlite/*.py"),
    *("openclaw_web/settings.py", "agents/databases.py", "agents/routers.py", "requirements-test.lock"),
    "tests/suite/fixture_cache.py",
)
# What `serve` makes of files beside them: static files with hashes in their names, compiled templates.
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
    return _made("databases", OF_TABLES, _make_databases)


def home():
    """The folder of a home of ours in which nothing was done yet; the empty file of new agents is there."""
    return _made("home", OF_TABLES, _make_home)


def copy_home(place):
    """The same as a home of one's own at `place`."""
    return shutil.copytree(home(), place, dirs_exist_ok=True)


def served():
    """The folder of such a home that was served: static files are collected, and templates compiled."""
    return _made("served", OF_SITE, _make_served)


def templates():
    """The folder for templates that tests have compiled."""
    return _made("templates", OF_TEMPLATES, Path.mkdir)


def fill(connection, file):
    """Have a connection of Django go on with a copy of `file` in memory, as after `create_test_db`."""
    name = connection.creation._get_test_db_name()
    connection.close()
    connection.settings_dict["NAME"] = name
    connection.ensure_connection()
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as source:
        source.backup(connection.connection)


def _made(name, patterns, make):
    """The folder `name` for files as they are, made when it is not there: whole, and by one process."""
    place = FOLDER / f"{name}-{fingerprint(patterns)}"
    with _alone(name):
        if not place.exists():
            _forget(name)
            draft = FOLDER / f"{name}.draft"
            shutil.rmtree(draft, ignore_errors=True)
            make(draft)
            draft.rename(place)
        os.utime(place)
    return place


def fingerprint(patterns):
    """A name for the content of all files that these patterns match, and for what reads them."""
    made = hashlib.sha256(f"{sys.version} {sqlite3.sqlite_version}".encode())
    for file in sorted({file for pattern in patterns for file in CHECKOUT.glob(pattern) if file.is_file()}):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        made.update(f"{file.relative_to(CHECKOUT)} {content}\n".encode())
    return made.hexdigest()[:16]


@contextmanager
def _alone(name):
    """Hold off the other workers of a test run."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    with (FOLDER / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _forget(name):
    """Remove what was made of other files, but for what is in use."""
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
    from tests import processes  # which needs none of this

    site = processes.Home.copied(home(), folder)
    server = site.serve()
    server.address()
    server.signal(signal.SIGTERM)
    assert server.end() == 0, server.said
    site.close()
