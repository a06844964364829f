"""A collect that is killed at any moment leaves a store that the next run completes."""

import os
import shutil
import subprocess
import time
import uuid

import pytest

from tests.homes import Home, assistant, result, user
from tests.jobs import fork_server
from tests.processes import FEW, Killer, until_met
from tests.sqlite_homes import SqliteHome
from tests.suite import fixture_cache

pytestmark = pytest.mark.kill


def wait_for_start(home, process):
    """Wait until a collect has begun (its run holds a file) or has ended."""
    known = set((home / "state" / "running").glob("*"))  # files that earlier runs left
    while process.poll() is None and not set((home / "state" / "running").glob("*")) - known:
        time.sleep(0.002)


def measure_run(home, process):
    """Return how many seconds a collect was at work, and its exit status."""
    wait_for_start(home, process)
    began = time.monotonic()
    status = process.wait()
    return time.monotonic() - began, status


def test_twenty_kills_lose_nothing_and_double_nothing(tmp_path):
    home = Home(tmp_path / "openclaw", agents=("main", "research"))
    for number in range(60):
        script = home.transcript(agent=("main", "research")[number % 2])
        for turn in range(60):
            call = f"c{turn}"
            script.add(user(f"Question {turn}"), assistant("", (call, "exec", {"n": turn})), result(call, "x" * 900))
            script.add(assistant(f"Answer {turn}"))
    home.transcript(user("One")).raw("not a record\n")
    fixture_cache.copy_home(tmp_path / "clean")
    shutil.copytree(tmp_path / "clean", tmp_path / "killed")
    seconds, status = measure_run(
        tmp_path / "clean", start_command(tmp_path / "clean", "collect", "--source", str(home.root))
    )
    assert status == 4  # a line that is no record

    killer = Killer(7, seconds / 4)
    for _kill in until_met(killer):
        process = start_command(tmp_path / "killed", "collect", "--source", str(home.root))
        wait_for_start(tmp_path / "killed", process)
        if not killer.kill(process):  # it got to its end: give it something new to do
            home.transcript(*[user(f"More {n}") for n in range(300)], agent="main")
    start_command(tmp_path / "killed", "collect", "--source", str(home.root)).wait()
    start_command(tmp_path / "clean", "collect", "--source", str(home.root)).wait()
    expected = read_rows(tmp_path / "clean")
    assert read_rows(tmp_path / "killed") == expected
    assert expected


def test_kills_while_a_database_is_collected(tmp_path):
    home = SqliteHome(tmp_path / "openclaw", agents=("main", "research"))
    for number in range(1, 41):
        turns = [record for turn in range(60) for record in (user(f"Question {turn}"), assistant("Answer " * 300))]
        home.session(str(uuid.UUID(int=number)), *turns, agent=("main", "research")[number % 2])
    home.archive(str(uuid.UUID(int=99)), user("Gone"))
    fixture_cache.copy_home(tmp_path / "clean")
    for copy in ("killed", "measured"):
        shutil.copytree(tmp_path / "clean", tmp_path / copy)
    words = ("collect", "--source", str(home.root), "--include-deleted")
    killer = Killer(7, measure_run(tmp_path / "measured", start_command(tmp_path / "measured", *words))[0] / 4)
    for number in until_met(killer, kills=FEW):
        process = start_command(tmp_path / "killed", *words)
        wait_for_start(tmp_path / "killed", process)
        if not killer.kill(process):  # it got to its end: give it something new to do
            home.append(str(uuid.UUID(int=1 + number % 40)), *[user(f"More {n}", key=number) for n in range(300)])
    assert start_command(tmp_path / "killed", *words).wait() == 0
    assert start_command(tmp_path / "clean", *words).wait() == 0
    expected = read_rows(tmp_path / "clean")
    assert read_rows(tmp_path / "killed") == expected
    assert expected
    assert os.listdir(tmp_path / "killed" / "state" / "copies") == ["lock"]


def start_command(home, *words):
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    environment.pop("PYTHONDEVMODE", None)
    nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return fork_server.start("openclaw_web", *words, env=environment, **nothing)


def read_rows(home):
    """Return every row that a collect writes, without the times at which it wrote them."""
    import sqlite3

    rows = {}
    for file in sorted(home.glob("agents/*/agent/openclaw-agent.sqlite")):
        store = sqlite3.connect(file)
        for table, columns in (
            ("transcript_events", "session_id, seq, kind, turn_number, is_active, event_json"),
            ("transcript_event_identities", "session_id, event_id, seq, parent_id"),
            ("conversation_turns", "id, turn_number, agent_message_content, total_tokens, record_count"),
            ("sessions", "id, record_count, turn_count, total_tokens, title, created_at"),
            ("session_days", "session_id, date, record_count, turn_count, total_tokens"),
            ("rejected_records", "file, byte_offset, reason"),
        ):
            rows[file.parts[-3], table] = sorted(store.execute(f"SELECT {columns} FROM {table}"))
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        store.close()
    store = sqlite3.connect(home / "state" / "openclaw.sqlite")
    rows["stats"] = sorted(store.execute("SELECT agent_id, date, turn_count, total_tokens FROM agent_daily_stats"))
    store.close()
    return rows
