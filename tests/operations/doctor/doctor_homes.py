"""Runs doctors as real processes on homes of their own, and reads the results."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import run
from tests.test_databases import GATE_TABLES

OF_PROBLEMS = ("problem_checks", "problems", "error_days", "error_sums", "error_groups")
TABLES_OF = {"gate": GATE_TABLES, "problems": OF_PROBLEMS}


# A module uses a fixture by naming it (`home = …`): in a conftest they would hide `home` from all others.
@pytest.fixture
def home(tmp_path):
    """The path of our home, which does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def source(home):
    """An OpenClaw home beside ours, with two agents."""
    return Home(Path(f"{home}-source"), agents=("main", "research"))


def doctor(home, *words, status=None, **more):
    """Return the receipt of `openclaw-web doctor ... --json` and its exit status."""
    exit_status, out, err = run(home, "doctor", *words, "--json", "--quiet", **more)
    assert "Traceback" not in err, err
    assert status is None or exit_status == status, (exit_status, err, out[:2000])
    return orjson.loads(out), exit_status


def assert_sound(home, *words):
    """Assert that a check finds nothing; returns its receipt.

    Findings about the places of a recorded home do not count.
    """
    receipt, _status = doctor(home, *words)
    findings = [
        finding["sentence"]
        for finding in receipt["store"]
        if finding["level"] == "finding" and finding["check"] != "place"
    ]
    assert findings == [] and receipt["to_read"] == 0, findings
    return receipt


def talk(number, turns=3):
    """Yield the records of a short conversation with a tool."""
    for turn in range(turns):
        call = f"c{turn}"
        yield user(f"Question {number} {turn}")
        yield assistant("", (call, "exec", {"n": turn}))
        yield result(call, f"out {turn} " * 40)
        yield assistant(f"Answer {number} {turn}")


def fill(source, sessions=3):
    """Write transcripts, an index, schedules and workspace files; returns the session ids."""
    ids = []
    for number in range(sessions):
        script = source.transcript(*talk(number), agent=source.agents[number % len(source.agents)])
        ids.append(script.session)
    own = ids[0 :: len(source.agents)]
    source.index(
        {f"agent:main:irc:direct:p{n}": {"sessionId": session_id, "updatedAt": 1} for n, session_id in enumerate(own)}
    )
    source.write("cron/jobs.json", {"version": 1, "jobs": [{"id": "j1", "agentId": "main", "name": "Daily"}]})
    source.write(
        "cron/runs/j1.jsonl", orjson.dumps({"ts": 1_771_642_800_000, "jobId": "j1", "status": "ok"}).decode() + "\n"
    )
    source.write("workspace/MEMORY.md", "I remember.\n")
    source.write("credentials/telegram.json", {"token": "sk-fake-canary"})
    return ids


def rows(home, sql, agent=None, values=()):
    """Return rows of the global file, or of an agent's, by plain sqlite3."""
    file = home / "agents" / agent / "agent" / "openclaw-agent.sqlite" if agent else home / "state" / "openclaw.sqlite"
    with closing(sqlite3.connect(file)) as db:
        return db.execute(sql, values).fetchall()


def change(home, sql, agent=None):
    file = home / "agents" / agent / "agent" / "openclaw-agent.sqlite" if agent else home / "state" / "openclaw.sqlite"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(sql)


def unmigrate(home, app, agent=None):
    """Remove an app's migration and its empty tables from a database."""
    drop = "".join(f"DROP TABLE {name};" for name in TABLES_OF[app])
    change(home, f"PRAGMA foreign_keys=OFF; {drop}", agent)
    change(home, f"DELETE FROM django_migrations WHERE app = '{app}'", agent)


def read_tree(root):
    """Return the content, mode and time of every file below a folder."""
    states = {}
    for path in sorted(root.rglob("*")):
        stat = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        states[path.relative_to(root).as_posix()] = (content, stat.st_mode, stat.st_mtime_ns)
    return states
