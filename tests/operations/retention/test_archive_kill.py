"""Killed archives, restores and removals lose no session.

A session that is not in the store is in a sound archive, complete.
"""

import ast
import shutil
import sqlite3
import time
from contextlib import closing
from itertools import chain

import orjson
import pytest

from tests.operations.backups.backup_homes import read_tables, run, start
from tests.operations.retention import old_sessions
from tests.processes import FEW, Killer, until_met

pytestmark = pytest.mark.kill
AGE = ("--older-than", "30d")


def find_whole_sessions(before, now):
    """Return the sessions that are in the store; each must have all of its rows."""
    files = {}
    for (file, table), rows in now.items():
        if file.startswith("agents/") and table == "sessions":
            assert set(rows) <= set(before[file, table])
            files |= {row.split("'")[1]: file for row in rows}
    for table in ("transcript_events", "conversation_turns", "artifacts"):
        for file in {file for file, _table in now}:
            expected = [row for row in before.get((file, table), []) if any(f"'{session}'" in row for session in files)]
            actual = now.get((file, table), [])
            assert actual == expected, (file, table)
    return set(files)


def count_sessions(home):
    """Count the sessions at this moment, while a run may be at work."""
    count = 0
    for file in home.glob("agents/*/agent/openclaw-agent.sqlite"):
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as store:
            count += store.execute("SELECT count(*) FROM sessions").fetchone()[0]
    return count


def wait_for_first_session(home, process):
    """Wait until a run has removed or put back its first session, or has ended."""
    before = count_sessions(home)
    while process.poll() is None and count_sessions(home) == before:
        time.sleep(0.002)


def measure_run(home, *words):
    """Measure how long a run takes, and how long of that it changes sessions."""
    started = time.monotonic()
    process = start(home, *words)
    wait_for_first_session(home, process)
    first = time.monotonic()
    process.communicate()
    assert process.returncode == 0
    return time.monotonic() - started, time.monotonic() - first


def read_archived(home):
    """Return the sessions that archives contain, read in full."""
    if not list((home / "archive").rglob("*.zst")):
        return set()
    status, out, err = run(home, "archive", "verify", str(home / "archive"), "--json", "--quiet")
    assert status == 0, err + out
    manifests = [orjson.loads(path.read_bytes()) for path in (home / "archive").rglob("*.manifest.json")]
    files = {path.name for path in (home / "archive").rglob("*.zst")}
    return {manifest["session"] for manifest in manifests if manifest["file"] in files}


def test_killed_archives_and_restores_lose_nothing(tmp_path):
    home = tmp_path / "own"
    old_sessions.fill(home, sessions=40)
    before, met = read_tables(home), set()
    everybody = find_whole_sessions(before, before)
    runs = (("archive", *AGE, "--quiet"), ("archive", "restore", str(home / "archive"), "--quiet"))
    # Each run is killed at any moment, and at any moment after its first session.
    killers = [[Killer(12, seconds) for seconds in measure_run(home, *words)] for words in runs]
    for kill in until_met(*chain.from_iterable(killers), kills=2 * FEW, and_until=lambda: len(met) > 2):
        way, is_aimed = kill % 2, kill % 4 > 1
        process = start(home, *runs[way])
        if is_aimed:
            wait_for_first_session(home, process)
        killers[way][is_aimed].kill(process)
        present = find_whole_sessions(before, read_tables(home))
        met.add(len(present))
        assert present | read_archived(home) == everybody
    assert len(met) > 2
    assert run(home, "archive", *AGE, "--quiet")[0] == 0
    assert not find_whole_sessions(before, read_tables(home)) and len(list((home / "archive").rglob("*.zst"))) == 40
    assert not list((home / "archive").glob(".*"))
    assert run(home, "archive", "restore", str(home / "archive"), "--quiet")[0] == 0
    after = read_tables(home)
    noted = ("state/openclaw.sqlite", "collector_sessions")  # its rows contain the time of import
    assert {key for key in before if before[key] != after[key]} <= {noted}
    assert [without_moment(row) for row in before[noted]] == [without_moment(row) for row in after[noted]]


def without_moment(row):
    """Return a row of `collector_sessions` without its time."""
    agent, session, kinds, count, checksum, why, _noted_at = ast.literal_eval(row)
    return agent, session, kinds, count, why, checksum


def test_twenty_killed_removals_leave_whole_sessions(tmp_path):
    home = tmp_path / "own"
    old_sessions.fill(home, sessions=60, turns=8)
    before, met, words = read_tables(home), set(), ("retention", "--days", "30", "--remove", "--quiet")
    for copy in ("full", "other"):
        shutil.copytree(home, tmp_path / copy)
    killers = [Killer(7, seconds) for seconds in measure_run(tmp_path / "other", *words)]
    for kill in until_met(*killers, and_until=lambda: len(met) > 2):
        process = start(home, *words)
        if kill % 2:
            wait_for_first_session(home, process)
        killers[kill % 2].kill(process)
        present = find_whole_sessions(before, read_tables(home))
        met.add(len(present))
        if not present:  # the next run needs sessions to remove
            shutil.rmtree(home)
            shutil.copytree(tmp_path / "full", home)
    assert len(met) > 2
    assert run(home, *words)[0] == 0
    after = read_tables(home)
    assert not find_whole_sessions(before, after)
    assert old_sessions.select_day_sums(after) == old_sessions.select_day_sums(before)
