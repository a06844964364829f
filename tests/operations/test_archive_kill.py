"""Archives, restores and removals that are killed at any moment: what is not here is in a sound archive, whole."""

import random
import time

import orjson
import pytest

from tests.operations import old_sessions
from tests.operations.backing_up import run, start, tables
from tests.processes import kills, met_enough

pytestmark = pytest.mark.kill
KILLS = kills(20)
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


def killed(home, chance, seconds, *words):
    """Start a run and kill it after any time; whether it was still at work."""
    process = start(home, *words)
    time.sleep(seconds * chance.random())  # the moment is meant to be any
    was_at_work = process.poll() is None
    process.kill()
    process.communicate()
    return was_at_work


def took(home, *words):
    began = time.monotonic()
    assert run(home, *words)[0] == 0
    return time.monotonic() - began


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
    before, chance = tables(home), random.Random(12)
    everybody, at_work, met = whole(before, before), 0, set()
    seconds = took(home, "archive", *AGE, "--quiet")
    back = took(home, "archive", "restore", str(home / "archive"), "--quiet")
    for kill in range(KILLS):
        if kill % 2:
            at_work += killed(home, chance, back, "archive", "restore", str(home / "archive"), "--quiet")
        else:
            at_work += killed(home, chance, seconds, "archive", *AGE, "--quiet")
        here = whole(before, tables(home))
        met.add(len(here))
        assert here | archived(home) == everybody
    assert met_enough(at_work, 1, KILLS) and met_enough(len(met), 2, KILLS), "no kill ever met one at work"
    assert run(home, "archive", *AGE, "--quiet")[0] == 0
    assert not whole(before, tables(home)) and len(list((home / "archive").rglob("*.zst"))) == 40
    assert not list((home / "archive").glob(".*"))
    assert run(home, "archive", "restore", str(home / "archive"), "--quiet")[0] == 0
    after = tables(home)
    assert {key for key in before if before[key] != after[key]} == set()


def test_killed_removals_leave_whole_sessions(tmp_path):
    home = tmp_path / "own"
    old_sessions.fill(home, sessions=60, turns=8)
    before, chance, at_work, met = tables(home), random.Random(7), 0, set()
    for _kill in range(KILLS):
        at_work += killed(home, chance, 4, "retention", "--days", "30", "--remove", "--quiet")
        here = whole(before, tables(home))
        met.add(len(here))
    assert met_enough(at_work, 1, KILLS), "no kill ever met one at work"
    assert run(home, "retention", "--days", "30", "--remove", "--quiet")[0] == 0
    after = tables(home)
    assert not whole(before, after)
    key = ("state/openclaw.sqlite", "agent_daily_stats")
    assert after[key] == before[key]
