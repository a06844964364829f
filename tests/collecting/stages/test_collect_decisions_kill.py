"""Collecting a plugin's logs, killed at any moment: each decision is stored once, and counted once."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.collecting.plugin_log import KEY, PluginLog, log_write
from tests.homes import Home, assistant, user
from tests.processes import FEW, Killer, until_met
from tests.suite import fixture_cache

ROOT = Path(__file__).resolve().parents[3]
T0 = 1_771_642_801_000
DECISIONS = 400
MARKS = (b"decision evaluated", b"candidateFact")  # of the last line of an exchange, and of a line of facts
pytestmark = [pytest.mark.kill, pytest.mark.nightly]

START = """
import os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
django.setup()
from people.configuration import setting_values as configuration
from collecting import collect
from jobs.progress import Progress
print("ready", flush=True)
"""
PREPARE = "configuration.put('reflection.logFolder', sys.argv[2])\n"
COLLECT = "collect.run({'source': sys.argv[1]}, Progress())\n"


@pytest.fixture
def source(tmp_path):
    home = Home(tmp_path / "openclaw")
    talk = home.transcript()
    home.index({KEY: {"sessionId": talk.session, "updatedAt": T0}})
    log = PluginLog(tmp_path / "logs").start(T0 - 1)
    for n in range(DECISIONS):
        at = T0 + n * 10_000
        records = (user(f"Question {n}"), assistant(f"Answer {n}"))
        talk.add(*(record | {"timestamp": format_time(at + 100 * i)} for i, record in enumerate(records)))
        log.add_message(at, "user", f"Question {n}").add_message(at + 100, "agent", f"Answer {n}")
        log.add_decision(at + 200, "UPDATE_USER" if n % 5 == 0 else "NO_WRITE", f"Because of {n}.")
        if n % 5 == 0:
            log_write(home.root / "workspace", at + 300, "UPDATE_USER", f"Fact {n}")
    return home.root, tmp_path / "logs"


def format_time(moment):
    return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def start_python(home, code, *arguments):
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment |= {"OPENCLAW_STATE_DIR": str(home / "no-openclaw-here"), "OPENCLAW_WEB_BUSY_SECONDS": "60"}
    environment.pop("PYTHONDEVMODE", None)
    command = [sys.executable, "-c", START + code, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def assert_success(process):
    """Wait until a process has ended, and assert that it succeeded."""
    process.communicate()
    assert process.returncode == 0


def kill_and_complete(tmp_path, source, killer):
    """Yield homes in which a collect was killed, and the next one came to its end."""
    for number in until_met(killer, kills=FEW):
        home = shutil.copytree(tmp_path / "prepared", tmp_path / f"home-{number}")
        process = start_python(home, COLLECT, *source)
        assert process.stdout.readline() == "ready\n"
        killer.kill(process)
        assert_success(start_python(home, COLLECT, *source))
        yield home
        shutil.rmtree(home)


def test_kills_lose_and_double_no_decision(tmp_path, source):
    assert_success(start_python(fixture_cache.copy_home(tmp_path / "prepared"), PREPARE, *source))
    for home in kill_and_complete(tmp_path, source, Killer(seed=13, seconds=2.0)):
        check(home)


def check(home):
    file = next(home.glob("agents/main/agent/openclaw-agent.sqlite"))
    with closing(sqlite3.connect(file)) as db:
        count = "SELECT count(*), count(DISTINCT reason), count(candidate_fact) FROM memory_gate_decisions"
        assert db.execute(count).fetchone() == (DECISIONS, DECISIONS, DECISIONS // 5)
        assert db.execute("SELECT sum(total) FROM gate_hours").fetchone() == (DECISIONS,)
        assert db.execute("SELECT sum(total_decisions) FROM memory_gate_stats").fetchone() == (DECISIONS,)
        windows = "SELECT count(*) FROM memory_gate_decisions JOIN gate_windows ON hash = window_hash"
        assert db.execute(windows).fetchone() == (DECISIONS,)


def test_kills_of_an_import_that_goes_on_where_one_stopped(tmp_path, source):
    root, logs = source
    files = [next(logs.iterdir()), root / "workspace" / ".openclaw-reflection" / "write-guardian.log.jsonl"]
    whole = [file.read_bytes() for file in files]
    halves = [data.find(b"\n", data.find(mark, len(data) // 2)) + 1 for data, mark in zip(whole, MARKS, strict=True)]
    for file, half in zip(files, halves, strict=True):
        os.truncate(file, half)
    assert_success(start_python(fixture_cache.copy_home(tmp_path / "prepared"), PREPARE + COLLECT, *source))
    for file, data, half in zip(files, whole, halves, strict=True):
        with file.open("ab") as handle:
            handle.write(data[half:])
    for home in kill_and_complete(tmp_path, source, Killer(seed=17, seconds=1.5)):
        check(home)
