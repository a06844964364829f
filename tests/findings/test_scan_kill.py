"""A scan that is killed at any moment leaves a store that the next scan completes."""

import os
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

from tests.findings.scan_helpers import write_mails
from tests.homes import Home
from tests.jobs import fork_server
from tests.processes import Killer, until_met
from tests.suite import fixture_cache

pytestmark = [pytest.mark.kill, pytest.mark.nightly]
SCAN = "import pathlib, sys; from findings import scan; pathlib.Path('{begun}').touch(); print(scan.scan_all())"
POSITIONS = "SELECT source, session_id, position, fingerprint, rules FROM finding_scans WHERE source <> 'summary'"
FINDINGS = 'source, source_id, session_id, turn_number, path, start, "end", kind, rule, value_hash'


def test_twenty_kills_lose_nothing_and_double_nothing(tmp_path):
    home = Home(tmp_path / "openclaw", agents=("main", "research"))
    for number in range(80):
        write_mails(home, 40, agent=("main", "research")[number % 2], mail=f"m{number % 50}@hanamail.jp")
    fixture_cache.copy_home(tmp_path / "clean")
    collect(tmp_path / "clean", home)  # the key of the hashes is made now: both homes have the same one
    shutil.copytree(tmp_path / "clean", tmp_path / "killed")
    shutil.copytree(tmp_path / "clean", tmp_path / "measured")
    process = start_scan(tmp_path / "measured")
    began = time.monotonic()
    assert process.wait() == 0

    killer = Killer(7, time.monotonic() - began)
    for number in until_met(killer):
        process = start_scan(tmp_path / "killed")
        if not killer.kill(process):  # it got to its end: give it something new to do
            for _session in range(20):
                write_mails(home, 40, agent="main", mail=f"n{number}@hanamail.jp")
            collect(tmp_path / "killed", home)
    for folder in ("killed", "clean"):
        collect(tmp_path / folder, home)
        assert start_scan(tmp_path / folder).wait() == 0
    expected = read_rows(tmp_path / "clean")
    assert read_rows(tmp_path / "killed") == expected
    assert len(expected["main"]) > 1_000 and expected["values"]


def collect(folder, home):
    assert start(folder, "collect", "--source", str(home.root)).wait() == 0


def start_scan(folder):
    """Start a scan, and wait until it has begun."""
    begun = folder / "begun"
    begun.unlink(missing_ok=True)
    process = start(folder, "shell", "--no-imports", "-c", SCAN.format(begun=begun))
    while process.poll() is None and not begun.exists():
        time.sleep(0.002)
    return process


def start(folder, *words):
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(folder), "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    environment.pop("PYTHONDEVMODE", None)
    nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return fork_server.start("openclaw_web", *words, env=environment, **nothing)


def read_rows(folder):
    """Return findings, positions and summaries, without the times at which they were written."""
    rows = {}
    for file in sorted(folder.glob("agents/*/agent/openclaw-agent.sqlite")):
        with closing(sqlite3.connect(file)) as store:
            rows[file.parts[-3]] = sorted(store.execute(f"SELECT {FINDINGS} FROM findings"))
            rows[file.parts[-3], "scans"] = sorted(store.execute(POSITIONS))
            assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with closing(sqlite3.connect(folder / "state" / "openclaw.sqlite")) as store:
        rows["values"] = sorted(store.execute("SELECT value_hash, kind, state, places, agents FROM finding_values"))
        rows["agents"] = sorted(store.execute("SELECT value_hash, agent_id, places FROM finding_value_agents"))
    return rows
