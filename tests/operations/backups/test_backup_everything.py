"""A backup of a home with rows in every table, compared by table and file."""

import hashlib
import sqlite3
from contextlib import closing

import pytest

from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import NOT_COMPARED, read_tables, run, run_backup

pytestmark = pytest.mark.kill
# A row for each table that the demo does not fill, in every agent's file and in the global one.
MORE = """
from people.configuration import setting_values as configuration
from agents.models import Agent
from tests.factories import DecisionFactory, SnapshotFactory
configuration.put("backup.keep", 5)
for agent in Agent.objects.all():
    DecisionFactory(db=agent.db)
    SnapshotFactory(db=agent.db)
"""
FILLED = {
    "state/openclaw.sqlite": (
        *("agents", "agent_databases", "collector_sources", "kv", "users", "dataset_samples", "sample_labels"),
        *("dataset_exports", "cron_jobs", "agent_daily_stats", "job_runs", "operator_audit"),
    ),
    "agents/main/agent/openclaw-agent.sqlite": (
        *("sessions", "transcript_events", "conversation_turns", "artifacts"),
        *("memory_gate_decisions", "file_snapshots", "workspace_files", "write_guardian_audit", "guardian_statuses"),
        *("rollbacks", "rollback_intents", "behavior_corrections", "guardian_runs", "guardian_receipts"),
    ),
}


def hash_files(home):
    """Return the hash of every file that is no database, by its path."""
    folders = ("artifacts/blobs", "artifacts/meta", "exports", "archive")
    paths = (file for folder in folders for file in (home / folder).rglob("*") if file.is_file())
    return {file.relative_to(home).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in paths}


def count(home, file, table):
    with closing(sqlite3.connect(home / file)) as db:
        return db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]


def test_it_works(tmp_path):
    home, new = tmp_path / "home", tmp_path / "new"
    assert run(home, "demo", "--no-serve")[0] == 0
    backup_homes.run_python(home, MORE)
    for file, names in FILLED.items():
        for name in names:
            assert count(home, file, name), (file, name)
    assert run(home, "search", "rebuild")[0] == 0
    assert len(list(home.rglob("search.sqlite"))) == 3
    made = run_backup(home, "create", "--with-exports")
    run_backup(new, "restore", made["backup"]["path"])
    assert not list(new.rglob("search.*"))
    old_rows, new_rows = read_tables(home), read_tables(new)
    assert new_rows.keys() == old_rows.keys()
    assert not [table for table in old_rows if new_rows[table] != old_rows[table]]
    assert backup_homes.read_schema(new) == backup_homes.read_schema(home)
    assert hash_files(new) == hash_files(home)
    assert {path.partition("/")[0] for path in hash_files(new)} == {"artifacts", "exports"}
    assert backup_homes.are_artifacts_sound(new)
    # Tables that differ on purpose still have all rows from before the backup.
    for name in ("operator_audit", "job_runs", "agent_databases"):
        assert name in NOT_COMPARED
        assert count(new, "state/openclaw.sqlite", name) >= count(home, "state/openclaw.sqlite", name) - 2, name
    assert run(new, "collect", OPENCLAW_STATE_DIR=f"{home}-source")[0] == 0  # the import continues at its old position
    assert [rows for table, rows in read_tables(new).items() if table[1] == "transcript_events"] == [
        rows for table, rows in old_rows.items() if table[1] == "transcript_events"
    ]
