"""`collect --watch`, as a process of its own beside a home that changes."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from collecting.watcher import LOOK_AGAIN_SECONDS
from tests.episodes.imports.mem_ledger import Ledger
from tests.homes import Home, assistant, user
from tests.processes import wait_for
from tests.sqlite_homes import SqliteHome
from tests.suite import fixture_cache

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.kill


def test_an_appended_line_is_collected_and_sigterm_ends_it(tmp_path):
    home = Home(tmp_path / "openclaw")
    script = home.transcript(user("One"))
    with run_watcher(tmp_path, home):
        wait_for(lambda: records(tmp_path) == 2)
        script.add(assistant("Hi"))
        wait_for(lambda: records(tmp_path) == 3)
        home.transcript(user("Two"))
        wait_for(lambda: records(tmp_path) == 5)


def test_what_is_written_to_a_database_is_collected_from_a_copy_that_is_kept(tmp_path):
    home = SqliteHome(tmp_path / "openclaw")
    session = "00000000-0000-0000-0000-000000000001"
    home.session(session, user("One"))
    with closing(sqlite3.connect(home.database())) as owner:  # while it is open, what is appended stays in the log
        owner.execute("SELECT count(*) FROM transcript_events").fetchone()
        with run_watcher(tmp_path, home):
            wait_for(lambda: records(tmp_path) == 2)
            first = copies(tmp_path)
            home.append(session, assistant("Hi"))
            wait_for(lambda: records(tmp_path) == 3)
            assert copies(tmp_path) == first
    assert copies(tmp_path) == {}


def test_an_event_of_openclaw_mem_is_collected_when_it_is_written(tmp_path):
    home = Home(tmp_path / "openclaw")
    home.transcript(user("One"))
    ledger = Ledger(home).add()
    with run_watcher(tmp_path, home):
        wait_for(lambda: records(tmp_path, "episodic_events") == 1)
        begun = time.monotonic()
        ledger.add()
        wait_for(lambda: records(tmp_path, "episodic_events") == 2)
        assert time.monotonic() - begun < LOOK_AGAIN_SECONDS / 2


def copies(tmp_path):
    """Return the copies of databases, and when each was made."""
    files = (tmp_path / "store/state/copies").glob("*/*openclaw-agent.sqlite")
    return {file: file.stat().st_mtime_ns for file in files}


@contextmanager
def run_watcher(tmp_path, home):
    """Run `collect --watch` during the block, and assert that it ends well."""
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(tmp_path / "store")}
    environment |= {"DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    command = [sys.executable, "manage.py"]
    fixture_cache.copy_home(tmp_path / "store")
    watcher = subprocess.Popen([*command, "collect", "--watch", "--source", str(home.root)], cwd=ROOT, env=environment)
    try:
        yield
    finally:
        watcher.send_signal(signal.SIGTERM)
        status = watcher.wait()
    assert status == 0


def records(tmp_path, table="transcript_events"):
    file = tmp_path / "store/agents/main/agent/openclaw-agent.sqlite"
    if not file.exists():
        return 0
    store = sqlite3.connect(file)
    try:
        return store.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    finally:
        store.close()
