"""Rows beside sessions that differ from what an import gives: `--deep` names each of them, and `--fix` mends them."""

import random
from pathlib import Path

import orjson
import pytest

from tests.collecting.stages.test_collect_extras import DDL
from tests.homes import START, user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import change, doctor, rows
from tests.operations.doctor.test_doctor_rows import damage_at_random, get_names, read_all, talk
from tests.sqlite_homes import T0, SqliteHome
from tests.suite.nightly import first

home = doctor_homes.home
IDS = [f"00000000-0000-4000-a000-0000000000{number:02}" for number in range(20)]
OLD, LEFT, FORKED = (f"00000000-0000-4000-a000-0000000000{letter}" for letter in ("aa", "bb", "cc"))
OF_AGENT = ("trajectory_events", "indexed_files", "vfs_entries", "artifacts", "rejected_records", "prompt_reports")
OF_HOME = ("cron_jobs", "cron_run_logs", "subagent_runs", "task_runs", "flow_runs", "delivery_queue_entries")
# Columns that no source decides.
UNDECIDED = {"created_at", "stored_bytes", "is_compressed", "raw_preview", "agent_id"}
KEYS = {"rejected_records": ["file", "byte_offset"]}
DOUBLED = {"trajectory_events": {"id": "id || 'x'"}, "cron_run_logs": {"seq": "seq + 3"}}


def collect(home, *words):
    status, _out, err = run(home, "collect", *words, "--json", "--quiet")
    assert status in (0, 4), err  # two lines are no records


def step(session, number):
    about = {"traceSchema": "openclaw-trajectory", "schemaVersion": 1, "sessionId": session, "runId": "run1"}
    data = {"systemPrompt": f"You are {number}.", "tools": [{"name": "exec"}], "trigger": "user"}
    moment = f"{START}{number:02d}.000Z"
    return about | {"type": "context.compiled", "ts": moment, "seq": number, "data": data}


def run_of(number, **more):
    return {"ts": T0 + number, "jobId": "j1", "status": "ok", "runAtMs": T0 + number - 5, "summary": str(number)} | more


def write_lines(source, name, values):
    return source.write(name, "".join(orjson.dumps(value).decode() + "\n" for value in values))


def fill_beside(source):
    """Fill every kind of source that has rows beside sessions."""
    (source.root / "agents/main/sessions").mkdir(exist_ok=True)
    with source.writing() as store:
        store.executescript(DDL)
        for number in range(4):
            text = orjson.dumps(step(IDS[1], number)).decode()
            values = {"session_id": IDS[1], "seq": number, "event_json": text, "created_at": 0}
            source.insert(store, "trajectory_runtime_events", **values)
            values = {"path": f"{number}.md", "source": "memory", "mtime": T0, "size": number}
            source.insert(store, "memory_index_sources", **values)
            values = {"namespace": "workspace", "path": f"{number}.md", "kind": "file", "content_blob": b"words"}
            source.insert(store, "vfs_entries", **values)
    write_lines(source, f"agents/main/sessions/{IDS[0]}.trajectory.jsonl", [step(IDS[0], n) for n in range(4)])
    jobs = [{"id": f"j{n}", "agentId": "main", "name": f"Job {n}", "createdAtMs": T0} for n in range(4)]
    source.write("cron/jobs.json", {"version": 1, "jobs": jobs})
    write_lines(source, "cron/runs/j1.jsonl", map(run_of, range(6)))
    write_lines(source, "cron/runs/j2.jsonl.migrated", [run_of(n, jobId="j2") for n in range(3)])
    subagents = {f"s{n}": {"runId": f"s{n}", "childSessionKey": f"agent:main:{n}", "createdAt": T0} for n in range(4)}
    source.write("subagents/runs.json", {"version": 1, "runs": subagents})
    with source.state() as store:
        for number in range(4):
            values = {"task_id": f"t{number}", "runtime": "cli", "task": "Look", "status": "done", "created_at": T0}
            source.insert(store, "task_runs", **values)
            values = {"flow_id": f"f{number}", "owner_key": "", "status": "running", "goal": "Ship", "created_at": T0}
            source.insert(store, "flow_runs", **values, updated_at=T0)
            values = {"queue_name": "q", "id": f"d{number}", "status": "failed", "entry_json": {}, "enqueued_at": T0}
            source.insert(store, "delivery_queue_entries", **values, updated_at=T0)
        values = {"source_id": "j2", "owner_key": "", "task": "News", "status": "succeeded", "detail_json": {}}
        source.insert(store, "task_runs", task_id="run", runtime="cron", started_at=T0 - 5, created_at=T0, **values)


@pytest.fixture
def source(home):
    """An OpenClaw home of both layouts, with 20 sessions."""
    made = SqliteHome(Path(f"{home}-source"))
    for number, session in enumerate(IDS):
        report = {"skills": {"entries": [{"name": f"skill {number}", "blockChars": 1}]}}
        key = f"agent:main:irc:direct:p{number}"
        made.session(session, *talk(number), key=key, systemPromptReport=report, chatType="direct")
    fill_beside(made)
    made.transcript(*talk(7), session=FORKED).raw("no record\n").raw('{"type":"message","message"\n')
    made.index({"agent:main:irc:direct:other": {"sessionId": FORKED, "updatedAt": 1}})
    return made


def read_beside(home):
    """All rows beside sessions, without columns that no source decides."""
    read = {}
    for agent, names in (("main", OF_AGENT), (None, (*OF_HOME, "agent_daily_stats"))):
        for table in names:
            columns = [name for name, _type, _key in list_columns(home, table, agent)]
            chosen = ", ".join(
                name for name in columns if name not in UNDECIDED and (table, name) != ("rejected_records", "id")
            )
            read[table] = sorted(map(repr, rows(home, f"SELECT {chosen} FROM {table}", agent)))
    return read


def list_columns(home, table, agent):
    return [(name, kind, is_key) for _n, name, kind, _m, _d, is_key in rows(home, f"PRAGMA table_info({table})", agent)]


def damage_beside(home, seed):
    """Change, delete or double some rows of each table; returns table and key of each."""
    chosen, damages = random.Random(seed), []
    for agent, table in [("main", table) for table in OF_AGENT] + [(None, table) for table in OF_HOME]:
        columns = list_columns(home, table, agent)
        keys = KEYS.get(table) or [name for name, _kind, is_key in columns if is_key]
        places = rows(home, f"SELECT rowid, {', '.join(keys)} FROM {table} ORDER BY rowid", agent)
        for rowid, *key in chosen.sample(places, min(2, len(places))):
            kind = chosen.choice(["change", "change", "delete", "double"])
            if kind == "delete" and table != "prompt_reports":  # sessions refer to them
                sql = f"DELETE FROM {table} WHERE rowid = {rowid}"
            elif kind == "double" and (changed := DOUBLED.get(table)):
                values = ", ".join(changed.get(name, name) for name, _kind, _key in columns)
                sql = f"INSERT INTO {table} SELECT {values} FROM {table} WHERE rowid = {rowid}"
                key = rows(
                    home, f"SELECT {', '.join(changed.get(n, n) for n in keys)} FROM {table} WHERE rowid={rowid}", agent
                )[0]
            else:
                free = [(name, kind) for name, kind, _key in columns if name not in {*keys, *UNDECIDED, "id"}]
                name, type_ = chosen.choice(sorted(free))
                value = (
                    f"coalesce({name}, 0) + 7" if "int" in type_ or "bool" in type_ else f"coalesce({name}, '') || '7'"
                )
                sql = f"UPDATE {table} SET {name} = {value} WHERE rowid = {rowid}"
            change(home, f"PRAGMA foreign_keys = OFF; {sql}", agent)
            damages.append((table, [*map(str, key)], sql))
    return damages


@pytest.mark.parametrize("seed", first([138, 139, 140, 141]))
def test_forty_random_damages_everywhere_are_named_and_mended(home, source, seed):
    """In a home with a rewritten source, an archived session, and somebody who opted out."""
    source.session(LEFT, user("My secret"), key="agent:main:irc:direct:left")
    old = source.transcript(*talk(30), session=OLD).path
    old.write_bytes(old.read_bytes().replace(b"2026-02-21", b"2024-02-21"))
    collect(home)
    assert run(home, "archive", "--older-than", "400d", "--quiet")[0] == 0
    assert rows(home, "SELECT count(*) FROM sessions", "main") == [(len(IDS) + 2,)]
    file = source.root / f"agents/main/sessions/{FORKED}.jsonl"
    file.write_bytes(file.read_bytes().replace(b"Question", b"Demand"))
    assert run(home, "settings", "set", "collector.optedOutSenders", '["left"]')[0] == 0
    collect(home, "--again")
    before = read_all(home), read_beside(home)
    clean = doctor(home, "--deep")[0]
    assert (clean["rows"], clean["losses"], clean["compared"]["unreadable"]) == ([], [], [])
    damages = damage_at_random(home, IDS, seed, has_sources=True)
    beside = damage_beside(home, seed)
    change(home, "UPDATE agent_daily_stats SET session_count = session_count + 5")
    report, _status = doctor(home, "--deep", status=1)
    assert [damage for damage in damages if damage[1] not in get_names(report, damage[0])] == []
    named = {(row["table"], *row["key"]) for row in report["rows"]}
    assert [damage for damage in beside if (damage[0], *damage[1]) not in named] == []
    assert "sums" in {finding["check"] for finding in report["store"]}
    assert read_beside(home) != before[1] and "My secret" not in str(
        rows(home, "SELECT * FROM transcript_events", "main")
    )
    doctor(home, "--fix", "--deep")
    assert (read_all(home), read_beside(home)) == before
    assert doctor(home, "--deep")[0]["rows"] == [] and not list((home / "state" / "copies").glob("*-*"))
    remaining = {session for (session,) in rows(home, "SELECT id FROM sessions", "main")}
    assert remaining == {*IDS, FORKED}


def test_rows_of_other_sources_are_no_differences(home, source):
    """Sources that are gone, changed or cut, and rows that two sources hold differently."""
    collect(home)
    (source.root / f"agents/main/sessions/{IDS[0]}.trajectory.jsonl").unlink()
    jobs = source.root / "cron/jobs.json"
    values = {
        "store_key": "s",
        "job_id": "j3",
        "name": "Other",
        "enabled": 1,
        "job_json": {"id": "j3"},
        "updated_at": T0,
    }
    with source.state() as store:
        source.insert(store, "cron_jobs", **values)
        store.execute("DELETE FROM task_runs WHERE task_id = 't0'")
        store.execute("UPDATE flow_runs SET goal = 'Sink' WHERE flow_id = 'f0'")
    collect(home)
    jobs.write_bytes(jobs.read_bytes().replace(b"Job 3", b"Job three").replace(b'"j0"', b'"j9"'))
    log = source.root / "cron/runs/j1.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[3:]))
    collect(home)
    assert ("Job three",) in rows(home, "SELECT name FROM cron_jobs")
    before = read_beside(home)
    assert len(before["cron_jobs"]) == 5 and len(before["cron_run_logs"]) == 9
    with log.open("ab") as opened:
        opened.write(orjson.dumps(run_of(20)) + b"\n")
    (source.root / "subagents/runs.json").write_text('{"version": 1, "runs": {}}')
    report, _status = doctor(home, "--deep", status=1)
    assert (report["rows"], report["to_read"], report["compared"]["unreadable"]) == ([], 2, [])
    doctor(home, "--fix", "--deep")
    after = read_beside(home)
    assert len(after.pop("cron_run_logs")) == len(before.pop("cron_run_logs")) + 1 and after == before


def test_rows_are_mended_whatever_their_sources_were_before(home, source):
    """Versions of workspace files, sessions that only an index names, and sources that cannot be read are said."""
    source.write("workspace/MEMORY.md", "I remember.\n")
    source.index({"agent:main:irc:direct:other": {"sessionId": LEFT, "updatedAt": 1, "label": "Empty"}})
    collect(home)
    change(home, "DELETE FROM file_snapshots; DELETE FROM trajectory_events;", "main")
    change(home, f"DELETE FROM sessions WHERE id = '{LEFT}'", "main")
    report, _status = doctor(home, "--deep", status=1)
    named = [row["table"] for row in report["rows"]]
    assert sorted(named) == ["file_snapshots", "sessions", *["trajectory_events"] * 8]
    assert {row["problem"] for row in report["rows"]} == {"missing"}
    fixed, _status = doctor(home, "--fix", "--deep", status=0)
    assert fixed["run"]["rows"] == [] and rows(home, "SELECT count(*) FROM trajectory_events", "main") == [(8,)]
    assert rows(home, "SELECT content FROM file_snapshots", "main") == [("I remember.\n",)]
    assert rows(home, f"SELECT title FROM sessions WHERE id = '{LEFT}'", "main") == [("Empty",)]
