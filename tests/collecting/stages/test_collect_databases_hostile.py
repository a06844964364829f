"""Collecting databases that are odd or hostile: each costs itself, never the rest."""

import json
import uuid

import pytest
from django.db import connections

from ledger.models import RejectedRecord, TrajectoryEvent, TranscriptEvent
from tests import faults
from tests.collecting.collect_runs import MAIN, count_events, run
from tests.homes import assistant, result, user
from tests.sqlite_homes import CANARY, SqliteHome

pytestmark = pytest.mark.django_db
ONE, TWO, THREE = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
BOTH = {"session": 1, "user": 1}
FAR = json.dumps({"type": "message", "id": "far", "message": {"role": "user", "content": "x"}})
STEPS = "CREATE TABLE trajectory_runtime_events (session_id TEXT, seq INTEGER, run_id TEXT, event_json TEXT)"
STEP = json.dumps({"type": "tool.call", "runId": "r", "seq": 1, "ts": "2026-02-21T03:00:00.000Z", "data": {}})
VFS = "CREATE TABLE vfs_entries (namespace TEXT, path TEXT, kind TEXT, updated_at INTEGER, content_blob BLOB)"


@pytest.fixture
def home(tmp_path, real_files):
    home = SqliteHome(tmp_path / "openclaw", agents=("main", "other"))
    home.session(ONE, user("Good"))
    home.session(THREE, user("Good"), agent="other")
    return home


def sql(home, *statements):
    with home.writing() as store:
        for statement in statements:
            store.execute(statement)


@pytest.mark.parametrize("seq", [2**62, 2**53, -1, -(2**62)])
def test_places_that_no_record_has(home, seq):
    with home.writing() as store:
        home.event(store, ONE, seq, FAR)
    report = run(home)
    assert report["agents"]["other"]["records"] == BOTH
    assert (report["agents"]["main"]["records"], report["agents"]["main"]["rejected"]) == (BOTH, {"bad_seq": 1})
    assert RejectedRecord.objects.using(MAIN).get().file.endswith(f"#{ONE}")
    with home.writing() as store:
        home.event(store, ONE, 2, FAR)
    again = run(home)["agents"]["main"]
    assert (again["records"], again["repeated"]) == ({"user": 1}, 0)


def test_text_where_numbers_belong(home):
    sql(
        home,
        "ALTER TABLE transcript_events RENAME TO old",
        "CREATE TABLE transcript_events (session_id, seq, event_json, created_at, event_zstd)",
        "INSERT INTO transcript_events SELECT session_id, seq, event_json, created_at, event_zstd FROM old",
        f"INSERT INTO transcript_events VALUES ('{ONE}', 'two', '{FAR}', 'never', 3)",
        f"INSERT INTO transcript_events VALUES ('{ONE}', 2.5, '{FAR}', 1e300, 3)",
        f"INSERT INTO transcript_events VALUES ('{ONE}', NULL, 7, NULL, NULL), (7, 8, 9, 10, 11), (x'ff', 8, 9, 1, 1)",
    )
    report = run(home)
    assert report["agents"]["other"]["records"] == BOTH
    assert report["agents"]["main"]["records"] == BOTH
    assert report["agents"]["main"]["rejected"] == {"bad_seq": 1, "bad_session": 2}


def test_steps_at_places_that_no_step_has(home):
    rows = [(ONE, 2**63 - 1, STEP), (ONE, 1, STEP), (ONE, 2, STEP.replace('"seq": 1', f'"seq": {2**64}'))]
    rows += [("a\0b", 1, STEP), ("x" * 100_000, 1, STEP), ("../../x", 1, STEP), (ONE, -5, STEP), (ONE, 3, "no JSON")]
    with home.writing() as store:
        store.execute(STEPS)
        store.executemany("INSERT INTO trajectory_runtime_events VALUES (?, ?, 'r', ?)", rows)
    report = run(home)
    assert report["agents"]["other"]["records"] == BOTH
    assert list(TrajectoryEvent.objects.using(MAIN).values_list("session_id", "seq")) == [(ONE, 1)]
    assert run(home)["bytes_read"] == 0


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE VIRTUAL TABLE vfs_entries USING fts5(namespace, path, content_blob, content='auth_profile_store')"],
        [
            "CREATE VIRTUAL TABLE vfs_entries USING fts5(namespace, path, kind, content_blob, updated_at)",
            "INSERT INTO vfs_entries VALUES ('a', 'b', 'c', 'd', 1)",
        ],
        [
            "CREATE VIEW vfs_entries AS SELECT profile AS namespace, profile AS path, '' AS kind,"
            " store_json AS content_blob, 1 AS updated_at FROM auth_profile_store"
        ],
        [
            VFS.replace("content_blob BLOB", "content_blob AS (hex(zeroblob(100000000)))"),
            "INSERT INTO vfs_entries VALUES ('a', 'b', 'c', 1)",
        ],
        [VFS.replace("path TEXT", "path AS (upper(namespace))"), "INSERT INTO vfs_entries VALUES ('a', 'c', 1, x'00')"],
        [VFS, "CREATE INDEX heavy ON vfs_entries (hex(zeroblob(100000000)))"],
        ["CREATE TRIGGER odd AFTER INSERT ON transcript_events BEGIN SELECT load_extension('x'); END"],
        ["CREATE TABLE vfs_entries (namespace TEXT, path TEXT)", "INSERT INTO vfs_entries VALUES ('a', 'b')"],
        [
            "CREATE TABLE run_artifacts (run_id, path, blob)",
            "INSERT INTO run_artifacts VALUES (1, 2, 3), (x'ff', x'ff', x'ff'), ('r', '../../etc', zeroblob(9))",
        ],
        # Columns that queries order by or search for may be missing as well.
        ["ALTER TABLE session_transcript_archives DROP COLUMN created_at"],
        ["ALTER TABLE session_windows DROP COLUMN updated_at"],
        ["ALTER TABLE session_transcript_cold_archives DROP COLUMN archived_at"],
        ["CREATE TABLE trajectory_runtime_events (seq INTEGER, event_json TEXT)"],
        ["CREATE TABLE memory_index_sources (size INTEGER)", "CREATE TABLE memory_index_chunks (x)"],
    ],
)
def test_schemas_that_are_odd_cost_no_record(home, statements, real_files):
    sql(home, *statements)
    report = run(home, include_deleted=True)
    assert [agent["records"] for agent in report["agents"].values()] == [BOTH, BOTH]
    assert report["rejected"] == 0
    for file in real_files.rglob("*"):
        assert file.is_relative_to(home.root) or not file.is_file() or CANARY.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        "sql = 'CREATE VIRTUAL TABLE conversations USING nothing(x)', rootpage = 0",
        "rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'auth_profile_store')",
        "sql = 'CREATE TABLE conversations (channel, nonsense (('",
    ],
)
def test_a_schema_that_does_not_hang_together_is_one_rejected_source(home, change):
    sql(home, "PRAGMA writable_schema=ON", f"UPDATE sqlite_master SET {change} WHERE name = 'conversations'")
    report = run(home)["agents"]
    assert report["main"]["rejected"] == {"bad_database": 1}
    assert report["other"]["records"] == BOTH


def test_the_state_database_without_the_columns_it_is_ordered_by(home):
    with home.state() as store:
        store.execute("ALTER TABLE task_runs DROP COLUMN created_at")
        store.execute("ALTER TABLE flow_runs DROP COLUMN created_at")
        store.execute("ALTER TABLE cron_run_logs DROP COLUMN ts")
        home.insert(store, "task_runs", task_id="t", runtime="cli", task="Look", status="done")
    schedules = run(home)["schedules"]
    assert (schedules["tasks"], schedules["rejected"]) == (1, 0)


def test_a_session_that_cannot_be_stored_does_not_stop_the_next(home):
    run(home)
    home.session(TWO, user("Odd")).session(THREE, user("Next"))
    store = TranscriptEvent.objects.using(MAIN)
    with connections[MAIN].cursor() as cursor:  # SQLite refuses the records of one session: "string or blob too big"
        cursor.execute(
            f"CREATE TRIGGER odd BEFORE INSERT ON transcript_events WHEN NEW.session_id = '{TWO}'"
            " BEGIN SELECT length(hex(zeroblob(900000000))); END"
        )
    report = run(home)["agents"]["main"]
    assert report["rejected"] == {"unreadable_session": 1}
    assert "DataError" in report["notes"][0]
    assert store.values("session").distinct().count() == 2
    with connections[MAIN].cursor() as cursor:
        cursor.execute("DROP TRIGGER odd")
    run(home)  # the database has not changed, and is read again
    assert store.values("session").distinct().count() == 3


def test_steps_wait_when_the_artifact_store_takes_nothing(home, settings):
    with home.writing() as store:
        store.execute(STEPS)
        store.execute("INSERT INTO trajectory_runtime_events VALUES (?, 1, 'r', ?)", (ONE, STEP))
    obstacle = settings.HOME_DIR / "artifacts"
    obstacle.write_text("a file where a folder should be")
    report = run(home)["agents"]
    obstacle.unlink()
    assert (report["main"]["records"], report["main"]["steps"], report["other"]["records"]) == (BOTH, 0, BOTH)
    assert any("artifact store" in note for note in report["main"]["notes"])
    assert run(home)["agents"]["main"]["steps"] == 1


def test_outputs_of_many_sessions_become_durable_together(home):
    for number in range(10, 40):
        home.session(str(uuid.UUID(int=number)), user("Go"), result("c", f"{number} line\n" * 900), assistant("Done"))
    groups = []

    def count_renames(event, path):
        if event == "open" and path.endswith(".publishing.lock"):  # finished contents get their names under this lock
            groups.append(0)
        if event == "os.rename" and groups:
            groups[-1] += 1

    with faults.watch_files(count_renames):
        run(home)
    assert [count for count in groups if count] == [60]  # the blob and the metadata of each content
    assert count_events("tool_result") == 30
