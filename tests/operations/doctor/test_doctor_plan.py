"""A check counts exactly the new rows that the next import brings.

This holds by source and by kind, and the second import brings nothing.
"""

import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import orjson
import pytest
import zstandard

from tests.collecting.test_collect_real_homes import HOMES
from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import assert_sound, change, doctor, fill, rows, talk
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.kill
home = doctor_homes.home
GLOBAL = ("cron_jobs", "cron_run_logs", "subagent_runs", "task_runs", "flow_runs", "delivery_queue_entries")
OF_AGENTS = ("sessions", "transcript_events", "trajectory_events", "indexed_files", "vfs_entries")
FILES = ("file_snapshots", "workspace_files")
ONE, TWO, THREE = (f"00000000-0000-4000-8000-00000000000{number}" for number in range(1, 4))
REAL = {
    "openclaw-2026.2.26": (316, 355),
    "openclaw-2026.2.26-migrated-2026.9.6": (316, 355),
    "openclaw-2026.7.1-hybrid": (9, 9),
    "openclaw-2026.7.2-beta.7": (9, 9),
    "openclaw-2026.9.6": (389, 416),
}


def get_source_path(home):
    """Return OpenClaw's folder beside a home of ours."""
    return Path(f"{home}-source")


def count_planned(receipt):
    """Return rows by table and records by kind that a check announces."""
    new, kinds = Counter(), Counter()
    for source in receipt["sources"]:
        new.update(source["new"])
        kinds.update(source["kinds"])
    return new, kinds


def count_stored(home):
    """Return the number of stored rows by table; all versions of files count as one."""
    counts = Counter({name: count_rows(home, name) for name in GLOBAL})
    for (agent,) in rows(home, "SELECT agent_id FROM agents"):
        counts.update({name: count_rows(home, name, agent) for name in OF_AGENTS})
        counts["file_snapshots"] += sum(count_rows(home, name, agent) for name in FILES)
    return counts


def count_rows(home, table, agent=None):
    return rows(home, f"SELECT count(*) FROM {table}", agent)[0][0]


def compare(home, *words):
    """Check, import and compare both; returns the number of imported records."""
    checked, _status = doctor(home, *words)
    new, kinds = count_planned(checked)
    before = count_stored(home)
    status, out, err = run(home, "collect", *words, "--json", "--quiet")
    imported, after = orjson.loads(out), count_stored(home)
    assert status == 0, err
    assert kinds == sum((Counter(agent["records"]) for agent in imported["agents"].values()), Counter())
    for table in {*new, *after} - {"sessions"}:
        assert new[table] == after[table] - before[table], table
    assert (
        sum(agent_plan["records"] for agent_plan in checked["agents"])
        == imported["records"]
        == new["transcript_events"]
    )
    again = assert_sound(home, *words)
    assert count_planned(again) == (Counter(), Counter()) and again["to_read"] == 0, again["sources"][:3]
    return imported["records"]


def create_file_source(root):
    """Write every kind of file that an import reads.

    Live, reset, deleted and packed transcripts, trajectories, schedules and runs, versions of files, an index.
    """
    home = Home(root, agents=("main", "research"))
    ids = fill(home)
    home.transcript(*talk(7), session=ids[0], suffix=".reset.2026-02-21T03-07-21.630Z")
    script = home.transcript(*talk(8), session=ONE, suffix=".deleted.2026-02-21T03-07-21.630Z")
    packed = script.path.with_name(script.path.name + ".zst")
    packed.write_bytes(zstandard.compress(script.path.read_bytes()))
    script.path.unlink()
    step = {"traceSchema": "openclaw-trajectory", "type": "session.started", "sessionId": ids[0], "runId": "x"}
    steps = [step | {"seq": seq, "ts": "2026-02-21T03:00:01.000Z"} for seq in range(3)]
    text = "".join(orjson.dumps(record).decode() + "\n" for record in steps)
    home.write(f"agents/main/sessions/{ids[0]}.trajectory.jsonl", text)
    home.write("subagents/runs.json", {"version": 2, "runs": {"r1": {"runId": "r1", "createdAt": 1_771_642_800_000}}})
    return home


def create_database_source(root):
    """Write a database with sessions, archives that repeat one, and a state database.

    One of the sessions was reset.
    """
    home = SqliteHome(root)
    home.session(ONE, *talk(1)).session(TWO, user("Two"), assistant("", ("c", "exec", {})), result("c", "x" * 5_000))
    name, blob = home.archive(THREE, *talk(3))
    home.write(f"agents/main/sessions/{name}", "")
    (root / "agents" / "main" / "sessions" / name).write_bytes(blob)
    home.archive(TWO, user("Two"), user("And more"), reason="reset", encoding="identity")
    with home.state() as store:
        store.execute(
            "INSERT INTO cron_jobs (store_key, job_id, name, enabled, job_json, updated_at)"
            " VALUES ('s', 'j', 'J', 1, '{}', 1)"
        )
        entry_json = orjson.dumps({"ts": 1_771_642_800_000, "runAtMs": 1_771_642_800_000, "jobId": "j"}).decode()
        store.execute(
            "INSERT INTO cron_run_logs (job_id, seq, ts, run_at_ms, entry_json) VALUES ('j', 0, ?, ?, ?)",
            (1_771_642_800_000, 1_771_642_800_000, entry_json),
        )
        store.execute("INSERT INTO flow_runs VALUES ('f', 'agent:main:main', 'done', 'g', NULL, 1771642800000, 1)")
    return home


@pytest.mark.parametrize("make", [create_file_source, create_database_source])
@pytest.mark.parametrize("words", [(), ("--include-deleted",)])
def test_what_is_counted_comes_in(home, make, words):
    make(get_source_path(home))
    assert compare(home, *words) > 10


@pytest.mark.parametrize("make", [create_file_source, create_database_source])
def test_what_was_left_comes_when_it_is_asked_for(home, make):
    make(get_source_path(home))
    compare(home)
    assert compare(home, "--include-deleted") > 0


def test_a_file_that_was_only_touched_brings_nothing(home):
    script = Home(get_source_path(home)).transcript(*talk(1))
    compare(home)
    script.path.touch()
    checked, _status = doctor(home, status=1)
    assert (checked["to_read"], checked["sources"][0]["records"], count_planned(checked)[0]) == (1, 0, Counter())
    assert "with 0 new records" in checked["message"]
    script.add(user("More"))
    assert compare(home) == 1


def test_a_file_that_was_written_anew_brings_what_is_new(home):
    script = Home(get_source_path(home)).transcript(user("One"), user("Two"))
    compare(home)
    lines = script.path.read_text().splitlines()
    script.path.write_text("\n".join([lines[0], lines[1].replace('"r1"', '"r9"'), lines[2]]) + "\n")
    assert compare(home) == 1


def test_an_id_that_no_column_takes_is_its_place(home):
    Home(get_source_path(home)).transcript(user("One") | {"id": "x" * 300}, user("Two") | {"id": "@7"})
    assert compare(home) == 3


def test_sessions_that_went_to_a_database_are_not_new(home, tmp_path):
    """Records that OpenClaw itself moved into a database keep their ids and are not new."""
    old = Home(get_source_path(home))
    scripts = [old.transcript(*talk(number), session=session) for number, session in enumerate((ONE, TWO))]
    compare(home)
    made = SqliteHome(tmp_path / "made")
    for script in scripts:
        header, *records = map(orjson.loads, script.path.read_bytes().splitlines())
        made.session(script.session, *records)
        with made.writing() as store:
            values = (orjson.dumps(header).decode(), script.session)
            store.execute("UPDATE transcript_events SET event_json = ? WHERE session_id = ? AND seq = 0", values)
        script.path.unlink()
    shutil.copytree(made.root / "agents" / "main" / "agent", old.root / "agents" / "main" / "agent")
    assert count_planned(doctor(home, status=1)[0])[0]["transcript_events"] == 0
    assert compare(home) == 0


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("words", [(), ("--include-deleted",)])
def test_real_homes(home, name, words):
    shutil.copytree(HOMES / name, get_source_path(home))
    assert compare(home, *words) == REAL[name][bool(words)]
    if not words:
        assert compare(home, "--include-deleted") == REAL[name][1] - REAL[name][0]


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
def test_ends_of_tool_calls_are_announced_and_compared(home):
    shutil.copytree(HOMES / "openclaw-2026.9.6", get_source_path(home))
    compare(home)
    counted = count_stored(home)
    end = "SELECT rowid FROM trajectory_events WHERE type = 'tool.action.finished' LIMIT 1"
    change(home, f"DELETE FROM trajectory_events WHERE rowid = ({end})", "main")
    report, _status = doctor(home, "--deep", status=1)
    assert [(row["table"], row["problem"]) for row in report["rows"]] == [("trajectory_events", "missing")]
    doctor(home, "--fix", "--deep")
    assert count_stored(home) == counted and doctor(home, "--deep")[0]["rows"] == []
    columns = "schema_version, occurred_at, kind, action, status, actor_type, actor_id, agent_id"
    more = "session_key, session_id, run_id, tool_call_id, tool_name"
    with closing(sqlite3.connect(get_source_path(home) / "state" / "openclaw.sqlite")) as db, db:  # of an old session
        db.execute(
            f"INSERT INTO audit_events (sequence, source_sequence, event_id, source_id, {columns}, {more})"
            f" SELECT 900, 900, 'new', 'new', {columns}, {more} FROM audit_events WHERE sequence = 201"
        )
    assert count_planned(doctor(home, status=1)[0])[0]["trajectory_events"] == 1
    compare(home)


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
def test_a_real_home_that_openclaw_migrated_brings_nothing(home):
    shutil.copytree(HOMES / "openclaw-2026.2.26", get_source_path(home))
    compare(home)
    shutil.rmtree(get_source_path(home))
    shutil.copytree(HOMES / "openclaw-2026.2.26-migrated-2026.9.6", get_source_path(home))
    for path in get_source_path(home).rglob("*"):
        os.utime(path)
    assert count_planned(doctor(home, status=1)[0])[0]["transcript_events"] == 0
    assert compare(home) == 0
