"""Collecting databases: files that are opened, cold archives, older tables, failed copies."""

import shutil
import sqlite3
import uuid
from collections import namedtuple

import pytest
import zstandard

from ledger.models import RejectedRecord, Session
from tests.collecting.collect_runs import MAIN, count_events, count_opens, run
from tests.homes import user
from tests.sqlite_homes import T0, SqliteHome

pytestmark = pytest.mark.django_db
ONE, TWO, THREE = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
LINE = b'{"type":"message","id":"r1","message":{"role":"user","content":"Cold"}}\n'


@pytest.fixture
def home(tmp_path, real_files):
    home = SqliteHome(tmp_path / "openclaw")
    home.session(ONE, user("Hi"))
    return home


def test_it_works(home):
    with home.state():
        pass
    for name in ("openclaw-agent.sqlite.generation-lock.sqlite", "auth-profiles.json", "models.json"):
        home.write(f"agents/main/agent/{name}", "never read")
    home.write("state/openclaw-quarantine.sqlite", "never read")
    owner = sqlite3.connect(home.database())
    owner.execute("UPDATE session_nodes SET label = 'x'")
    owner.commit()
    try:
        opened = count_opens(lambda: run(home, include_deleted=True))
    finally:
        owner.close()
    inside = {path.removeprefix(f"{home.root}/") for path in opened if path.startswith(f"{home.root}/")}
    assert inside == {
        "openclaw.json",
        "agents/main/agent/openclaw-agent.sqlite",
        "agents/main/agent/openclaw-agent.sqlite-wal",
        "state/openclaw.sqlite",
    }


def test_cold_archives_in_the_database_and_as_files(home):
    with home.writing() as store:
        for session, storage in ((TWO, "sqlite"), (THREE, "file")):
            blob = zstandard.compress(LINE)
            values = {"session_id": session, "generation": "g", "archive_name": f"{session}.jsonl.zst"}
            values |= {"archived_at": T0, "storage": storage, "archive_blob": blob if storage == "sqlite" else None}
            home.insert(store, "session_transcript_cold_archives", **values)
    folder = home.root / "agents/main/sessions/cold"
    folder.mkdir(parents=True)
    (folder / f"{THREE}.jsonl.zst").write_bytes(zstandard.compress(LINE))
    run(home)
    assert Session.objects.using(MAIN).count() == 3
    assert count_events("user") == 3
    assert run(home)["bytes_read"] == 0


def test_an_archive_never_leads_out_of_its_folder(home):
    (home.root / "agents/main/sessions/cold").mkdir(parents=True)
    (home.root / "secret.jsonl.zst").write_bytes(zstandard.compress(LINE))
    with home.writing() as store:
        values = {"session_id": TWO, "generation": "g", "archive_name": "../../../../secret.jsonl.zst"}
        home.insert(store, "session_transcript_cold_archives", **values, archived_at=T0, storage="file")
    run(home, include_deleted=True)
    assert count_events("user") == 1


def test_sessions_of_versions_without_nodes(home):
    with home.writing() as store:
        store.execute("DROP TABLE session_nodes")
        store.execute("DROP TABLE session_windows")
        store.execute("CREATE TABLE session_entries (session_key TEXT, entry_json TEXT, updated_at INTEGER)")
        home.insert(store, "session_entries", session_key="agent:main:irc:direct:bob", entry_json={"sessionId": ONE})
    run(home)
    assert Session.objects.using(MAIN).get().session_key == "agent:main:irc:direct:bob"


def test_without_room_for_a_copy_the_rest_is_read(home, monkeypatch):
    usage = namedtuple("usage", "total used free")
    home.write("workspace/MEMORY.md", "Remember")
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 10**7, 10**7))
        report = run(home)["agents"]["main"]
    assert report["rejected"] == {"database_not_copied": 1}
    assert report["file_versions"] == 1
    assert "free" in report["notes"][0]
    assert not RejectedRecord.objects.using(MAIN).exists()
    assert run(home)["agents"]["main"]["records"] == {"session": 1, "user": 1}


def test_a_database_without_transcripts_leaves_files_to_speak(home):
    with home.writing() as store:
        store.execute("DROP TABLE transcript_events")
    (home.root / "agents/main/sessions").mkdir()
    home.transcript(user("From a file"), session=TWO)
    assert run(home)["agents"]["main"]["records"] == {"session": 1, "user": 1}
    assert run(home)["bytes_read"] == 0


def test_a_database_behind_a_link_is_left_alone(home, tmp_path):
    elsewhere = tmp_path / "elsewhere.sqlite"
    home.database().rename(elsewhere)
    home.database().symlink_to(elsewhere)
    home.write("workspace/MEMORY.md", "Remember")
    assert run(home)["records"] == 0
