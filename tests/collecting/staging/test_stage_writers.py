"""A database that is staged while OpenClaw writes it: each copy is of one moment, and the last one has everything."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.collecting.staging.stage_runs import assert_whole, stage
from tests.homes import user
from tests.sqlite_homes import SqliteHome
from tests.suite.nightly import first

S1 = "11111111-1111-4111-8111-111111111111"
DATABASE = "agents/main/agent/openclaw-agent.sqlite"
# Each transaction inserts two rows of one number, so a torn copy has one of them alone; old rows go, as compactions do.
WRITER = """
import json, sqlite3, sys, time
store = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
session, number = sys.argv[2], 0
sql = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)"
while True:
    number += 1
    store.execute("BEGIN IMMEDIATE")
    for half in (0, 1):
        record = {"type": "message", "id": f"n{number}-{half}", "number": number, "more": "x" * 900}
        store.execute(sql, (session, 10 + 2 * number + half, json.dumps(record), number))
    store.execute("DELETE FROM transcript_events WHERE seq BETWEEN 10 AND ?", (10 + 2 * (number - 500) + 1,))
    store.execute("COMMIT")
    print(number, flush=True)
    time.sleep(0.001)
"""


def read_numbers(file):
    with closing(sqlite3.connect(file)) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        sql = "SELECT event_json ->> '$.number' AS n, count(*) FROM transcript_events WHERE seq >= 10 GROUP BY n"
        return dict(store.execute(sql))


@pytest.mark.parametrize("rounds", first([4, 200]))
def test_rounds_beside_a_writer(tmp_path, rounds):
    home = SqliteHome(tmp_path / "openclaw")
    home.session(S1, user("Begin"))
    words = [sys.executable, "-c", WRITER, home.database(), S1]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
        writer.stdout.readline()
        newest = 0
        for _round in range(rounds):
            receipt = stage(home.root, tmp_path / "out")
            assert receipt["withheld"] == []
            assert_whole(tmp_path / "out")
            numbers = read_numbers(tmp_path / "out" / DATABASE)
            assert set(numbers.values()) == {2}
            assert sorted(numbers) == list(range(min(numbers), max(numbers) + 1))
            assert max(numbers) >= newest
            newest = max(numbers)
        writer.kill()
        written = [int(line) for line in writer.stdout if line.endswith("\n")]
    stage(home.root, tmp_path / "out")
    assert max(read_numbers(tmp_path / "out" / DATABASE)) >= written[-1]
    assert read_numbers(tmp_path / "out" / DATABASE) == read_numbers(home.database())
