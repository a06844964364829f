"""Collecting steps of runs, bundles, memory indexes and files that are stored in databases."""

import json
import sqlite3
from contextlib import closing

import pytest

from artifacts.models import Artifact
from artifacts.store import blobs, layout
from ledger.models import IndexedFile, TrajectoryEvent, VfsEntry
from tests.collecting.collect_runs import MAIN, assert_honest, read_progress, run
from tests.homes import START, Home, user
from tests.sqlite_homes import CANARY, SqliteHome

pytestmark = pytest.mark.django_db
ONE = "00000000-0000-0000-0000-000000000001"
TOOLS = [{"name": "exec", "parameters": {"type": "object"}}]
DDL = """
CREATE TABLE trajectory_runtime_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, run_id TEXT,
  event_json TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE memory_index_sources (id INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, hash TEXT,
  mtime REAL NOT NULL, size INTEGER NOT NULL) STRICT;
CREATE TABLE memory_index_chunks (chunk_rowid INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL,
  text TEXT NOT NULL, embedding BLOB NOT NULL) STRICT;
CREATE TABLE vfs_entries (namespace TEXT NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL, content_blob BLOB,
  metadata_json TEXT, updated_at INTEGER, PRIMARY KEY (namespace, path));
CREATE TABLE tool_artifacts (run_id TEXT NOT NULL, artifact_id TEXT NOT NULL, kind TEXT, metadata_json TEXT, blob BLOB,
  created_at INTEGER, PRIMARY KEY (run_id, artifact_id));
"""


@pytest.fixture
def home(tmp_path, real_files):
    home = SqliteHome(tmp_path / "openclaw")
    home.session(ONE, user("Hi"))
    with home.writing() as store:
        store.executescript(DDL)
    return home


def step(seq, type_, **data):
    about = {"traceSchema": "openclaw-trajectory", "schemaVersion": 1, "sessionId": ONE, "runId": "run1"}
    return about | {"type": type_, "ts": f"{START}{seq:02d}.000Z", "seq": seq, "data": data}


STEPS = [
    step(1, "session.started", trigger="user", toolCount=1),
    step(2, "context.compiled", systemPrompt="You are kind.", tools=TOOLS, messages=[{"content": "private words"}]),
    step(3, "model.completed", usage={"input": 7, "cost": {"total": 0.5}}, assistantTexts=["private words"]),
]


def test_it_works(home):
    with home.writing() as store:
        for seq, row in enumerate(STEPS):
            values = {"session_id": ONE, "seq": seq, "event_json": json.dumps(row), "created_at": 0}
            home.insert(store, "trajectory_runtime_events", **values)
    assert run(home)["agents"]["main"]["steps"] == 3
    steps = TrajectoryEvent.objects.using(MAIN).order_by("seq")
    assert [row.type for row in steps] == ["session.started", "context.compiled", "model.completed"]
    assert json.loads(steps[2].about_json)["usage"] == {"input": 7, "cost": 0.5}
    assert "private" not in "".join(row.about_json for row in steps)
    artifacts = {row.kind: row for row in Artifact.objects.using(MAIN).all()}
    assert artifacts["system_prompt"].session_id == ONE
    assert json.loads(content(artifacts["tool_schemas"])) == TOOLS
    assert run(home)["agents"]["main"]["steps"] == 0


def content(artifact):
    with blobs.open_blob(layout.get_root(), artifact.sha256) as blob:
        return b"".join(blob.chunks())


def test_steps_in_files_are_the_same_steps(tmp_path, home):
    (home.root / "agents/main/sessions").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in STEPS)
    file = home.write(f"agents/main/sessions/{ONE}.trajectory.jsonl", lines)
    run(home)
    with file.open("a") as more:
        more.write(json.dumps(step(4, "session.ended", status="success")) + "\nnot json\n")
    with home.writing() as store:
        text = json.dumps(STEPS[0])
        home.insert(store, "trajectory_runtime_events", session_id=ONE, seq=0, event_json=text, created_at=0)
    run(home)
    assert TrajectoryEvent.objects.using(MAIN).count() == 4


def test_a_bundle(home):
    folder = "workspace/.openclaw/trajectory-exports/openclaw-trajectory-1"
    home.write(f"{folder}/manifest.json", {"traceSchema": "openclaw-trajectory", "sessionId": ONE})
    home.write(f"{folder}/tools.json", TOOLS)
    home.write(f"{folder}/system-prompt.txt", "You are kind.")
    home.write("workspace/.openclaw/trajectory-exports/odd/manifest.json", "[]")
    assert run(home)["agents"]["main"]["contents"] == 2
    artifacts = sorted(Artifact.objects.using(MAIN).values_list("kind", "session_id"))
    assert artifacts == [("system_prompt", ONE), ("tool_schemas", ONE)]
    assert run(home)["agents"]["main"]["contents"] == 0


def test_the_memory_index(home):
    with home.writing() as store:
        home.insert(store, "memory_index_sources", path="MEMORY.md", source="memory", mtime=1795230138454.6, size=9)
        for _ in range(3):
            values = {"path": "MEMORY.md", "source": "memory", "text": CANARY, "embedding": CANARY.encode()}
            home.insert(store, "memory_index_chunks", **values)
    assert run(home)["agents"]["main"]["indexed_files"] == 1
    indexed = IndexedFile.objects.using(MAIN).get()
    assert (indexed.path, indexed.chunk_count, indexed.size_bytes) == ("MEMORY.md", 3, 9)


def test_the_memory_index_of_older_versions(tmp_path, real_files):
    home = Home(tmp_path / "files")
    home.transcript(user("Hi"))
    (home.root / "memory").mkdir()
    with closing(sqlite3.connect(home.root / "memory" / "main.sqlite")) as store:
        store.execute("CREATE TABLE files (path TEXT PRIMARY KEY, source TEXT, hash TEXT, mtime INTEGER, size INTEGER)")
        store.execute("CREATE TABLE chunks (id TEXT, path TEXT, source TEXT, text TEXT, embedding TEXT)")
        store.execute("INSERT INTO files VALUES ('memory/2026-02-21.md', 'memory', 'x', 5, 100)")
        store.execute("INSERT INTO chunks VALUES ('c', 'memory/2026-02-21.md', 'memory', 'words', '[0.1]')")
        store.commit()
    assert_honest(read_progress(home.root))
    assert IndexedFile.objects.using(MAIN).get().chunk_count == 1
    assert run(home)["bytes_read"] == 0


def test_files_inside_the_database(home):
    with home.writing() as store:
        for path, kind, data in (("a/notes.md", "file", b"words"), ("a", "dir", None), (".env", "file", b"KEY=1")):
            home.insert(store, "vfs_entries", namespace="workspace", path=path, kind=kind, content_blob=data)
        home.insert(store, "tool_artifacts", run_id="r", artifact_id="out", kind="text", blob=b"tool output")
    assert run(home)["agents"]["main"]["contents"] == 2
    listed = {row.path: row for row in VfsEntry.objects.using(MAIN).all()}
    assert listed["a"].handle is None
    assert (listed[".env"].handle, listed[".env"].bytes) == (None, 5)
    contents = {row.kind: content(row) for row in Artifact.objects.using(MAIN).all()}
    assert contents == {"vfs_file": b"words", "tool_artifact": b"tool output"}
