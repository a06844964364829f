"""Kills while writes to memory files are collected change nothing in the result."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.collecting.plugin_log import KEY, PluginLog, log_write
from tests.collecting.stages.test_collect_decisions_kill import (
    COLLECT,
    PREPARE,
    T0,
    assert_success,
    format_time,
    kill_and_complete,
    start_python,
)
from tests.collecting.stages.test_collect_write_databases import SCHEMA
from tests.homes import Home, assistant, user
from tests.processes import Killer
from tests.suite import fixture_cache

WRITES = 400
pytestmark = [pytest.mark.kill, pytest.mark.nightly]
TABLES = {
    "write_guardian_audit": "id, decision_id, turn_id, session_id, target_file, candidate_fact, before_snapshot_id,"
    " after_snapshot_id, diff, hunks_json, status, match, sources, origin, is_diff_shared, earliest_at, created_at",
    "guardian_statuses": "audit_id, status, given_by, reason, created_at",
    "guardian_receipts": "id, audit_id",
    "file_snapshots": "id, content_hash",
    "rollbacks": "id, audit_id, restored_snapshot_id",
    "rejected_records": "file, byte_offset, reason",
}


def write_memory_file(home, number):
    file = home.root / "workspace" / "USER.md"
    file.write_text(f"# User\n- fact {number}\n")
    os.utime(file, (T0 / 1000 + number * 10, T0 / 1000 + number * 10))


@pytest.fixture
def source(tmp_path):
    """A home whose file was imported twice, with many new writes for the next import."""
    home = Home(tmp_path / "openclaw")
    talk = home.transcript()
    home.index({KEY: {"sessionId": talk.session, "updatedAt": T0}})
    (home.root / "workspace").mkdir()
    log = PluginLog(tmp_path / "logs").start(T0 - 1)
    write_memory_file(home, 0)
    assert_success(
        start_python(fixture_cache.copy_home(tmp_path / "prepared"), PREPARE + COLLECT, home.root, tmp_path / "logs")
    )
    write_memory_file(home, 50)
    assert_success(start_python(tmp_path / "prepared", COLLECT, home.root, tmp_path / "logs"))
    write_memory_file(home, WRITES)
    for n in range(WRITES):
        at = T0 + n * 10_000
        records = (user(f"Question {n}"), assistant(f"Answer {n}"))
        talk.add(*(record | {"timestamp": format_time(at + 100 * i)} for i, record in enumerate(records)))
        log.add_message(at, "user", f"Question {n}").add_message(at + 100, "agent", f"Answer {n}")
        log.add_decision(at + 200, "UPDATE_USER", f"Because of {n}.")
        log_write(home.root / "workspace", at + 300, "UPDATE_USER", f"Fact {n}", "refused" if n % 4 == 0 else "written")
    log_write(home.root / "workspace", T0, "UPDATE_WORLD", "Nothing")
    with closing(sqlite3.connect(home.root / "workspace" / ".openclaw-reflection" / "reflection.db")) as db, db:
        db.executescript(SCHEMA)
        for n in range(0, WRITES, 2):
            row = (f"w{n}", "USER.md", f"Fact {n}", "refused" if n % 4 == 0 else "rolled_back", T0 + n * 10_000 + 290)
            db.execute(
                "INSERT INTO write_guardian_audit (id, target_file, candidate_fact, status, created_at)"
                " VALUES (?, ?, ?, ?, ?)", row,
            )  # fmt: skip
    return home.root, tmp_path / "logs"


def contents(home):
    file = next(home.glob("agents/main/agent/openclaw-agent.sqlite"))
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        return {
            table: sorted(db.execute(f"SELECT {columns} FROM {table}"), key=str) for table, columns in TABLES.items()
        }


def test_kills_change_nothing(tmp_path, source):
    clean = shutil.copytree(tmp_path / "prepared", tmp_path / "clean")
    assert_success(start_python(clean, COLLECT, *source))
    expected = contents(clean)
    assert len(expected["write_guardian_audit"]) == WRITES  # the first change of the file is one of them
    for home in kill_and_complete(tmp_path, source, Killer(seed=14, seconds=3.0)):
        assert contents(home) == expected
