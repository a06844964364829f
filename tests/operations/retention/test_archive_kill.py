"""Archives, restores and removals that are killed at any moment: what is not here is in a sound archive, whole."""

import ast
import shutil
import sqlite3
import time
from contextlib import closing
from itertools import chain

import orjson
import pytest

from tests.operations.backups.backup_homes import run, start, tables
from tests.operations.retention import old_sessions
from tests.processes import FEW, Killer, until_met

pytestmark = pytest.mark.kill
AGE = ("--older-than", "30d")


def whole(before, now):
    """The sessions that are here; every one of them with all its rows."""
    here = {}
    for (file, table), rows in now.items():
        if file.startswith("agents/") and table == "sessions":
            assert set(rows) <= set(before[file, table])
            here |= {row.split("'")[1]: file for row in rows}
    for table in ("transcript_events", "transcript_event_identities", "conversation_turns", "artifacts"):
        for file in {file for file, _table in now}:
            wanted = [row for row in before.get((file, table), []) if any(f"'{one}'" in row for one in here)]
            found = now.get((file, table), [])
            assert found == wanted, (file, table)
    return set(here)


def here_now(home):
    """How many sessions there are at this moment, while a run may be at work."""
    count = 0
    for file in home.glob("agents/*/agent/openclaw-agent.sqlite"):
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as store:
            count += store.execute("SELECT count(*) FROM sessions").fetchone()[0]
    return count


def begun(home, process):
    """Wait until a run has removed or put back its first session, or has ended."""
    before = here_now(home)
    while process.poll() is None and here_now(home) == before:
        time.sleep(0.002)


def span(home, *words):
    """How long a run takes, and how long of that it removes or puts back sessions."""
    started = time.monotonic()
    process = start(home, *words)
    begun(home, process)
    first = time.monotonic()
    process.communicate()
    assert process.returncode == 0
    return time.monotonic() - started, time.monotonic() - first


def archived(home):
    """The sessions that archives hold, read in full."""
    if not list((home / "archive").rglob("*.zst")):
        return set()
    status, out, err = run(home, "archive", "verify", str(home / "archive"), "--json", "--quiet")
    assert status == 0, err + out
    manifests = [orjson.loads(path.read_bytes()) for path in (home / "archive").rglob("*.manifest.json")]
    files = {path.name for path in (home / "archive").rglob("*.zst")}
    return {one["session"] for one in manifests if one["file"] in files}


def test_killed_archives_and_restores_lose_nothing(tmp_path):
    home = tmp_path / "own"
    old_sessions.fill(home, sessions=40)
    before, met = tables(home), set()
    everybody = whole(before, before)
    runs = (("archive", *AGE, "--quiet"), ("archive", "restore", str(home / "archive"), "--quiet"))
    # Of each: at any moment of the whole, and of its work once that has begun.
    killers = [[Killer(12, seconds) for seconds in span(home, *words)] for words in runs]
    for kill in until_met(*chain.from_iterable(killers), kills=2 * FEW, and_until=lambda: len(met) > 2):
        way, is_aimed = kill % 2, kill % 4 > 1
        process = start(home, *runs[way])
        if is_aimed:
            begun(home, process)
        killers[way][is_aimed].kill(process)
        here = whole(before, tables(home))
        met.add(len(here))
        assert here | archived(home) == everybody
    assert len(met) > 2
    assert run(home, "archive", *AGE, "--quiet")[0] == 0
    assert not whole(before, tables(home)) and len(list((home / "archive").rglob("*.zst"))) == 40
    assert not list((home / "archive").glob(".*"))
    assert run(home, "archive", "restore", str(home / "archive"), "--quiet")[0] == 0
    after = tables(home)
    noted = ("state/openclaw.sqlite", "collector_sessions")  # also says when
    assert {key for key in before if before[key] != after[key]} <= {noted}
    assert [without_moment(row) for row in before[noted]] == [without_moment(row) for row in after[noted]]


def without_moment(row):
    """A row of `collector_sessions`, without when it was noted."""
    agent, session, kinds, count, checksum, why, _noted_at = ast.literal_eval(row)
    return agent, session, kinds, count, why, checksum


def test_twenty_killed_removals_leave_whole_sessions(tmp_path):
    home = tmp_path / "own"
    old_sessions.fill(home, sessions=60, turns=8)
    before, met, words = tables(home), set(), ("retention", "--days", "30", "--remove", "--quiet")
    for copy in ("full", "other"):
        shutil.copytree(home, tmp_path / copy)
    killers = [Killer(7, seconds) for seconds in span(tmp_path / "other", *words)]
    for kill in until_met(*killers, and_until=lambda: len(met) > 2):
        process = start(home, *words)
        if kill % 2:
            begun(home, process)
        killers[kill % 2].kill(process)
        here = whole(before, tables(home))
        met.add(len(here))
        if not here:  # give the next one something to do
            shutil.rmtree(home)
            shutil.copytree(tmp_path / "full", home)
    assert len(met) > 2
    assert run(home, *words)[0] == 0
    after = tables(home)
    assert not whole(before, after)
    assert old_sessions.sums_by_day(after) == old_sessions.sums_by_day(before)
