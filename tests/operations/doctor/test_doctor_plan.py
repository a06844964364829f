"""What a look counts as new is what the import then brings, source by source and kind by kind; and nothing twice."""

import os
import shutil
from collections import Counter
from pathlib import Path

import orjson
import pytest
import zstandard

from tests.collecting.test_collect_real_homes import HOMES
from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import assert_sound, doctor, fill, rows, talk
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


def of(home):
    """OpenClaw folder beside a home of ours."""
    return Path(f"{home}-source")


def planned(found):
    """Rows by table, and records by kind, that a look says will come."""
    new, kinds = Counter(), Counter()
    for source in found["sources"]:
        new.update(source["new"])
        kinds.update(source["kinds"])
    return new, kinds


def held(home):
    """Rows by table that are in the store; versions of files by one name."""
    found = Counter({name: count(home, name) for name in GLOBAL})
    for (agent,) in rows(home, "SELECT agent_id FROM agents"):
        found.update({name: count(home, name, agent) for name in OF_AGENTS})
        found["file_snapshots"] += sum(count(home, name, agent) for name in FILES)
    return found


def count(home, table, agent=None):
    return rows(home, f"SELECT count(*) FROM {table}", agent)[0][0]


def compare(home, *words):
    """Look, import, and hold one against the other; how many records came."""
    found, _status = doctor(home, *words)
    new, kinds = planned(found)
    before = held(home)
    status, out, err = run(home, "collect", *words, "--json", "--quiet")
    came, after = orjson.loads(out), held(home)
    assert status == 0, err
    assert kinds == sum((Counter(agent["records"]) for agent in came["agents"].values()), Counter())
    for table in {*new, *after} - {"sessions"}:
        assert new[table] == after[table] - before[table], table
    assert sum(one["records"] for one in found["agents"]) == came["records"] == new["transcript_events"]
    again = assert_sound(home, *words)
    assert planned(again) == (Counter(), Counter()) and again["to_read"] == 0, again["sources"][:3]
    return came["records"]


def files(root):
    """Every kind of file: live, reset, deleted, packed, trajectories, schedules and runs, versions, an index."""
    home = Home(root, agents=("main", "research"))
    ids = fill(home)
    home.transcript(*talk(7), session=ids[0], suffix=".reset.2026-02-21T03-07-21.630Z")
    script = home.transcript(*talk(8), session=ONE, suffix=".deleted.2026-02-21T03-07-21.630Z")
    packed = script.path.with_name(script.path.name + ".zst")
    packed.write_bytes(zstandard.compress(script.path.read_bytes()))
    script.path.unlink()
    step = {"traceSchema": "openclaw-trajectory", "type": "session.started", "sessionId": ids[0], "runId": "x"}
    steps = [step | {"seq": seq, "ts": "2026-02-21T03:00:01.000Z"} for seq in range(3)]
    text = "".join(orjson.dumps(one).decode() + "\n" for one in steps)
    home.write(f"agents/main/sessions/{ids[0]}.trajectory.jsonl", text)
    home.write("subagents/runs.json", {"version": 2, "runs": {"r1": {"runId": "r1", "createdAt": 1_771_642_800_000}}})
    return home


def database(root):
    """A database with sessions, one of them reset, archives that say it again, and a state database."""
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
        told = orjson.dumps({"ts": 1_771_642_800_000, "runAtMs": 1_771_642_800_000, "jobId": "j"}).decode()
        store.execute(
            "INSERT INTO cron_run_logs (job_id, seq, ts, run_at_ms, entry_json) VALUES ('j', 0, ?, ?, ?)",
            (1_771_642_800_000, 1_771_642_800_000, told),
        )
        store.execute("INSERT INTO flow_runs VALUES ('f', 'agent:main:main', 'done', 'g', NULL, 1771642800000, 1)")
    return home


@pytest.mark.parametrize("make", [files, database])
@pytest.mark.parametrize("words", [(), ("--include-deleted",)])
def test_what_is_counted_comes_in(home, make, words):
    make(of(home))
    assert compare(home, *words) > 10


@pytest.mark.parametrize("make", [files, database])
def test_what_was_left_comes_when_it_is_asked_for(home, make):
    make(of(home))
    compare(home)
    assert compare(home, "--include-deleted") > 0


def test_a_file_that_was_only_touched_brings_nothing(home):
    script = Home(of(home)).transcript(*talk(1))
    compare(home)
    script.path.touch()
    found, _status = doctor(home, status=1)
    assert (found["to_read"], found["sources"][0]["records"], planned(found)[0]) == (1, 0, Counter())
    assert "with 0 new records" in found["message"]
    script.add(user("More"))
    assert compare(home) == 1


def test_a_file_that_was_written_anew_brings_what_is_new(home):
    script = Home(of(home)).transcript(user("One"), user("Two"))
    compare(home)
    lines = script.path.read_text().splitlines()
    script.path.write_text("\n".join([lines[0], lines[1].replace('"r1"', '"r9"'), lines[2]]) + "\n")
    assert compare(home) == 1


def test_an_id_that_no_column_takes_is_its_place(home):
    Home(of(home)).transcript(user("One") | {"id": "x" * 300}, user("Two") | {"id": "@7"})
    assert compare(home) == 3


def test_sessions_that_went_to_a_database_are_not_new(home, tmp_path):
    """OpenClaw's own migration: the same records under the same ids, in a database at the same place."""
    old = Home(of(home))
    scripts = [old.transcript(*talk(number), session=one) for number, one in enumerate((ONE, TWO))]
    compare(home)
    made = SqliteHome(tmp_path / "made")
    for one in scripts:
        header, *records = map(orjson.loads, one.path.read_bytes().splitlines())
        made.session(one.session, *records)
        with made.writing() as store:
            told = (orjson.dumps(header).decode(), one.session)
            store.execute("UPDATE transcript_events SET event_json = ? WHERE session_id = ? AND seq = 0", told)
        one.path.unlink()
    shutil.copytree(made.root / "agents" / "main" / "agent", old.root / "agents" / "main" / "agent")
    assert planned(doctor(home, status=1)[0])[0]["transcript_events"] == 0
    assert compare(home) == 0


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("words", [(), ("--include-deleted",)])
def test_real_homes(home, name, words):
    shutil.copytree(HOMES / name, of(home))
    assert compare(home, *words) == REAL[name][bool(words)]
    if not words:
        assert compare(home, "--include-deleted") == REAL[name][1] - REAL[name][0]


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
def test_a_real_home_that_openclaw_migrated_brings_nothing(home):
    shutil.copytree(HOMES / "openclaw-2026.2.26", of(home))
    compare(home)
    shutil.rmtree(of(home))
    shutil.copytree(HOMES / "openclaw-2026.2.26-migrated-2026.9.6", of(home))
    for path in of(home).rglob("*"):
        os.utime(path)
    assert planned(doctor(home, status=1)[0])[0]["transcript_events"] == 0
    assert compare(home) == 0
