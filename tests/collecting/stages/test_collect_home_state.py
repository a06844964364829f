"""Collecting the state database: schedules, sub-agent runs, tasks, flows and deliveries."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from automation.models import CronJob, CronRunLog, DeliveryQueueEntry, FlowRun, SubagentRun, TaskRun
from collecting import collect
from jobs.progress import Progress
from ledger.models import TrajectoryEvent, TranscriptEvent
from tests.collecting.collect_runs import run
from tests.homes import user
from tests.sqlite_homes import CANARY, T0, SqliteHome

pytestmark = pytest.mark.django_db
KEY = "agent:other:main"
DEFINITION = {"id": "j1", "agentId": "main", "name": "News", "schedule": {"kind": "every", "everyMs": 60000}}
DEFINITION |= {"payload": {"kind": "agentTurn", "message": "Look"}, "createdAtMs": T0}


@pytest.fixture
def home(tmp_path, real_files):
    home = SqliteHome(tmp_path / "openclaw", agents=("main", "other"))
    home.session("00000000-0000-0000-0000-000000000001", user("Hi"))
    return home


def job(home, store, **more):
    values = {"store_key": "s", "job_id": "j1", "name": "News", "enabled": 1, "job_json": DEFINITION, "updated_at": T0}
    home.insert(store, "cron_jobs", **values | {"state_json": {"nextRunAtMs": T0 + 5}} | more)


def task(home, store, task_id, **more):
    values = {"runtime": "cron", "source_id": "j1", "owner_key": "", "task": "News", "status": "succeeded"}
    home.insert(store, "task_runs", task_id=task_id, **values | {"created_at": T0} | more)


def test_it_works(home):
    detail = {"status": "ok", "summary": "Done", "runAtMs": T0, "durationMs": 7, "sessionId": "x"}
    with home.state() as store:
        job(home, store)
        task(home, store, "t1", ended_at=T0 + 7, detail_json=detail)
    assert run(home)["schedules"]["cron_runs"] == 1
    stored = CronJob.objects.get()
    assert (stored.id, stored.agent_id, stored.prompt, stored.next_run_at) == ("j1", "main", "Look", T0 + 5)
    ran = CronRunLog.objects.get()
    assert (ran.seq, ran.ts, ran.status, ran.summary, ran.duration_ms) == (T0, T0 + 7, "ok", "Done", 7)
    assert run(home)["bytes_read"] == 0


def test_a_run_that_several_tables_tell_is_one(home):
    with home.state() as store:
        job(home, store)
        task(home, store, "t1", started_at=T0, ended_at=T0 + 7, detail_json={"status": "ok"})
        log = {"job_id": "j1", "seq": 1, "ts": T0 + 8, "status": "ok", "run_at_ms": T0, "entry_json": {}}
        home.insert(store, "cron_run_logs", **log)
        receipt = {"receipt_id": "r", "job_id": "j1", "agent_id": "other", "status": "ok", "started_at_ms": T0}
        home.insert(store, "cron_run_receipts", **receipt, finished_at_ms=T0 + 7)
        home.insert(
            store,
            "cron_run_receipts",
            **receipt | {"receipt_id": "r2", "status": "interrupted", "started_at_ms": T0 + 60_000},
            finished_at_ms=T0 + 61_000,
        )
    run(home)
    assert list(CronRunLog.objects.order_by("seq").values_list("status", "duration_ms", "agent_id")) == [
        ("ok", None, "main"),
        ("error", 1000, "other"),
    ]


def test_runs_of_a_migrated_home_are_not_doubled(home):
    entry = {"ts": T0 + 9, "jobId": "j1", "status": "ok", "runAtMs": T0}
    early = {"ts": T0 - 1000, "jobId": "j1", "status": "error", "runAtMs": T0 - 5000}
    home.write("cron/runs/j1.jsonl.migrated", json.dumps(entry) + "\n" + json.dumps(early) + "\n")
    with home.state() as store:
        job(home, store)
        task(home, store, "t1", started_at=T0, detail_json={"status": "ok"})
    assert run(home)["schedules"]["cron_runs"] == 2
    assert sorted(CronRunLog.objects.values_list("status", flat=True)) == ["error", "ok"]
    assert run(home)["schedules"]["cron_runs"] == 0


def test_a_run_log_that_was_read_before_the_migration(home):
    entry = {"ts": T0 + 9, "jobId": "j1", "status": "ok", "runAtMs": T0, "summary": "From the file"}
    log = home.write("cron/runs/j1.jsonl", json.dumps(entry) + "\n")
    run(home)
    log.rename(log.with_name(log.name + ".migrated"))
    with home.state() as store:
        job(home, store)
        task(home, store, "t1", started_at=T0, detail_json={"status": "ok"})
    run(home)
    assert CronRunLog.objects.get().summary == "From the file"


def test_background_work(home):
    with home.state() as store:
        task(home, store, "t1", runtime="acp", owner_key=KEY, label="Build", tool_use_count=3, error="bad\x00")
        home.insert(
            store, "flow_runs", flow_id="f1", owner_key=KEY, status="running", goal="Ship", created_at=T0, updated_at=T0
        )
        queued = {"queue_name": "q", "id": "d1", "status": "failed", "session_key": KEY, "channel": "irc"}
        queued |= {"target": CANARY, "entry_json": {"text": CANARY}, "enqueued_at": T0, "updated_at": T0}
        home.insert(store, "delivery_queue_entries", **queued, last_error="offline", retry_count=4)
    schedules = run(home)["schedules"]
    assert (schedules["tasks"], schedules["flows"], schedules["deliveries"], schedules["cron_runs"]) == (1, 1, 1, 0)
    stored = TaskRun.objects.get()
    assert (stored.agent_id, stored.label, stored.tool_use_count, stored.error) == ("other", "Build", 3, "bad\ufffd")
    assert FlowRun.objects.get().goal == "Ship"
    assert DeliveryQueueEntry.objects.get().retry_count == 4
    with home.state() as store:
        store.execute("UPDATE task_runs SET status = 'failed'")
    run(home)
    assert TaskRun.objects.get().status == "failed"


def test_subagent_runs(home):
    payload = {"task": "Look around", "label": "scout", "outcome": {"status": "ok"}, "endedAt": T0 + 9}
    keys = {"child_session_key": "agent:main:subagent:1", "requester_session_key": "agent:other:main"}
    with home.state() as store:
        home.insert(store, "subagent_runs", run_id="new", **keys, created_at=T0, payload_json=payload)
        older = {"task": "Older", "ended_at": T0 + 5, "outcome_json": {"status": "error"}}
        home.insert(store, "subagent_runs", run_id="old", **keys, created_at=T0, **older)
    run(home)
    runs = {row.run_id: row for row in SubagentRun.objects.all()}
    assert {name: row.ended_at for name, row in runs.items()} == {"new": T0 + 9, "old": T0 + 5}
    assert json.loads(runs["old"].payload_json)["outcome"] == {"status": "error"}
    assert runs["new"].agent_id == "other"


def test_hostile_rows(home):
    with home.state() as store:
        job(home, store, job_json="[1]", state_json="{")
        job(home, store, job_id="j2", job_json='{"id": 7, "schedule": [1], "payload": "x", "enabled": "no"}')
        task(home, store, "t1", detail_json="null", started_at=-5, created_at=2**62)
        task(home, store, "t2", runtime="x", created_at=2**62, tool_use_count=-1)
    report = run(home)
    assert report["schedules"]["cron_jobs"] == 2
    assert TaskRun.objects.get().created_at == 0


def test_a_damaged_state_database_does_not_stop_the_rest(home):
    home.write("state/openclaw.sqlite", "no database at all")
    report = run(home)
    assert report["schedules"]["rejected"] == 1
    assert report["records"] == 2


AUDIT_DDL = """
CREATE TABLE audit_events (sequence INTEGER PRIMARY KEY, occurred_at, kind TEXT, action TEXT, status TEXT,
  error_code TEXT, agent_id TEXT, session_id TEXT, run_id TEXT, tool_call_id TEXT, tool_name TEXT, duration_ms)
"""
HOME = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-2026.9.6"
SESSION = "00000000-0000-0000-0000-000000000001"


def audit(home, store, sequence, call, action, **more):
    values = {"kind": "tool_action", "action": f"tool.action.{action}", "tool_call_id": call, "tool_name": "exec"}
    values |= {"agent_id": "main", "session_id": SESSION, "run_id": "r", "occurred_at": T0 + sequence}
    status = "succeeded" if action == "finished" else action
    home.insert(store, "audit_events", sequence=sequence, **values | {"status": status} | more)


def test_ends_of_tool_calls_have_outcomes_and_durations(home):
    with home.state() as store:
        store.execute(AUDIT_DDL)
        audit(home, store, 1, "a", "started")
        audit(home, store, 2, "b", "started")
        audit(home, store, 9, "b", "finished", status="failed", error_code="tool_failed")
        audit(home, store, 30, "a", "finished")
        audit(home, store, 31, "c", "finished", duration_ms=5)  # its start is not there any more
        audit(home, store, 32, "d", "finished", duration_ms="long")
        audit(home, store, 33, "e", "started")
        for number, odd in enumerate(({"occurred_at": "x"}, {"session_id": "no"}, {"agent_id": None}, {"kind": "run"})):
            audit(home, store, 40 + number, "f", "finished", **odd)
        audit(home, store, 50, None, "finished")
    run(home)
    stored = TrajectoryEvent.objects.using("agent_main").order_by("seq")
    assert [(step.created_at - T0, step.about.get("durationMs"), step.about["status"]) for step in stored] == [
        *((9, 7, "failed"), (30, 29, "succeeded"), (31, 5, "succeeded"), (32, None, "succeeded")),
    ]
    with home.state() as store:
        audit(home, store, 60, "e", "finished")
    run(home)
    assert [step.about.get("durationMs") for step in stored.all()] == [7, 29, 5, None, 27]
    with home.state() as store:
        store.execute("DELETE FROM audit_events WHERE sequence < 60")
    run(home)
    assert stored.all().count() == 5, "what OpenClaw removes from its log stays here"


@pytest.mark.skipif(not HOME.exists(), reason="the recorded home is not on this machine")
def test_the_ends_of_a_real_home_are_those_of_its_calls(real_files, as_stranger):
    collect.run({"source": str(HOME), "include_deleted": True}, Progress())
    ends, results = {}, {}
    for agent in ("main", "research"):
        for step in TrajectoryEvent.objects.using(f"agent_{agent}").filter(type="tool.action.finished"):
            ends[step.about["toolCallId"]] = step.about
        for event in TranscriptEvent.objects.using(f"agent_{agent}").filter(kind="tool_result"):
            call = event.record["message"]["toolCallId"]
            results[f"sha256:{hashlib.sha256(call.encode()).hexdigest()}"] = event
    assert len(ends) == 36 and ends.keys() <= results.keys()
    assert all(0 <= end["durationMs"] < 60_000 for end in ends.values())
    # The log adds no failure: what it calls failed is flagged in the transcript, and exit codes it does not know.
    failed = {call for call, end in ends.items() if end["status"] != "succeeded"}
    flagged = {call for call in ends if results[call].is_failed}
    assert len(failed) == 1 and failed < flagged
    assert re.search(r"p50 \d+ ms, p95 \d+ ms", as_stranger.get("/agents/main/").text)
