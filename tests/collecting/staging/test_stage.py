"""`openclaw-web stage`: a copy of what an import may read, with a manifest."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from collecting import collect
from guardian.models import FileSnapshot
from jobs.progress import Progress
from ledger.models import Session, TranscriptEvent
from openclaw_web.disk import locks
from tests.collecting.collect_runs import count_opens, dump_tables, write_conversation
from tests.collecting.staging.stage_runs import assert_whole, list_files, read_manifest, search, stage
from tests.homes import Home, assistant, user
from tests.sqlite_homes import CANARY, SqliteHome

CHECKOUT = Path(__file__).resolve().parents[3]
S1 = "11111111-1111-4111-8111-111111111111"
DATABASE = "agents/main/agent/openclaw-agent.sqlite"


@pytest.fixture
def files(tmp_path):
    """A home of files: a conversation with an index, a workspace and a schedule."""
    home = Home(tmp_path / "openclaw")
    script = write_conversation(home)
    home.index({"agent:main:main": {"sessionId": script.session, "updatedAt": 1}})
    home.write("workspace/MEMORY.md", "- tabs\n")
    home.write("workspace/memory/2026-02-21.md", "a day\n")
    home.write("cron/jobs.json", {"jobs": []})
    home.script = script
    return home


@pytest.fixture
def database(tmp_path):
    home = SqliteHome(tmp_path / "openclaw")
    home.session(S1, *[user(f"Question {number} " + "x" * 300) for number in range(400)])
    return home


def read_events(file):
    with closing(sqlite3.connect(file)) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return store.execute("SELECT session_id, seq, event_json FROM transcript_events ORDER BY 1, 2").fetchall()


def test_the_copy_has_what_an_import_reads_and_nothing_else(files, tmp_path):
    for name in ("agents/main/agent/auth-profiles.json", "credentials/a.json", "logs/gateway.log", "notes.txt"):
        files.write(name, {"key": "sk-fake-canary"})
    receipt = stage(files.root, tmp_path / "out")
    assert_whole(tmp_path / "out")
    assert sorted(read_manifest(tmp_path / "out")["files"]) == [
        f"agents/main/sessions/{files.script.session}.jsonl",
        "agents/main/sessions/sessions.json",
        "cron/jobs.json",
        "openclaw.json",
        "workspace/MEMORY.md",
        "workspace/memory/2026-02-21.md",
    ]
    assert search(tmp_path / "out", "sk-fake-canary") == []
    assert json.loads((tmp_path / "out" / "openclaw.json").read_bytes()) == {"agents": {"list": [{"id": "main"}]}}
    assert {item["path"] for item in receipt["withheld"]} == {"agents/main/agent/auth-profiles.json"}


@pytest.mark.django_db
def test_every_file_that_an_import_opens_is_in_the_copy(files, real_files, tmp_path):
    stage(files.root, tmp_path / "out")
    opened = count_opens(lambda: collect.run({"source": str(files.root), "include_deleted": True}, Progress()))
    names = {os.path.relpath(path, files.root) for path in opened if Path(path).is_relative_to(files.root)}
    assert {name for name in names if (files.root / name).is_file()} == read_manifest(tmp_path / "out")["files"].keys()


def test_without_a_change_nothing_is_written(files, tmp_path):
    first = stage(files.root, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.suffix != ".json"}
    content, state = (tmp_path / "out" / "manifest.json").read_bytes(), tmp_path / "out" / ".stage-state.json"
    written = state.stat()
    again = stage(files.root, tmp_path / "out")
    assert state.stat() == written
    assert (again["is_new"], again["generation"], again["changed"]) == (False, first["generation"], [])
    state.unlink()  # then contents are compared
    assert stage(files.root, tmp_path / "out")["changed"] == []
    assert (tmp_path / "out" / "manifest.json").read_bytes() == content
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_change_is_a_generation_after_the_one_before(files, tmp_path):
    first = stage(files.root, tmp_path / "out")
    files.script.add(user("More"))
    (files.root / "cron" / "jobs.json").unlink()
    again = stage(files.root, tmp_path / "out")
    assert again["changed"] == [f"agents/main/sessions/{files.script.session}.jsonl"]
    assert again["removed"] == ["cron/jobs.json"]
    assert read_manifest(tmp_path / "out")["parent"] == first["generation"]
    assert_whole(tmp_path / "out")


def test_a_change_within_a_second_has_another_time(files, tmp_path):
    """Rsync takes files of the same size and second for the same."""
    memory, copy = files.root / "workspace" / "MEMORY.md", tmp_path / "out" / "workspace" / "MEMORY.md"
    stage(files.root, tmp_path / "out")
    before = copy.stat()
    memory.write_text("- TABS\n")
    os.utime(memory, ns=(before.st_mtime_ns ^ 1, before.st_mtime_ns ^ 1))
    stage(files.root, tmp_path / "out")
    assert copy.read_text() == "- TABS\n"
    assert int(copy.stat().st_mtime) != int(before.st_mtime)


def test_a_damaged_copy_is_put_right(files, tmp_path):
    stage(files.root, tmp_path / "out")
    (tmp_path / "out" / "workspace" / "MEMORY.md").write_text("changed by somebody")
    (tmp_path / "out" / "more.txt").write_text("not ours")
    (tmp_path / "out" / "link").symlink_to(files.root)
    receipt = stage(files.root, tmp_path / "out")
    assert (receipt["changed"], receipt["removed"]) == (["workspace/MEMORY.md"], ["more.txt"])
    assert_whole(tmp_path / "out")
    assert not (tmp_path / "out" / "link").is_symlink()


def test_of_a_database_only_allowed_columns_are_in_the_copy(database, tmp_path):
    with database.state() as store:
        database.insert(store, "task_runs", task_id="t", runtime="cli", task="do", status="done", created_at=1)
        database.insert(
            store, "delivery_queue_entries", queue_name="q", id="1", status="failed", target="+4915112345678",
            entry_json='{"text": "a message to somebody"}', enqueued_at=1, updated_at=1,
        )  # fmt: skip
    stage(database.root, tmp_path / "out")
    assert_whole(tmp_path / "out")
    assert len(read_events(tmp_path / "out" / DATABASE)) == 401
    assert search(tmp_path / "out", CANARY, "+4915112345678", "a message to somebody") == []
    assert search(tmp_path / "out", "auth_profile_store", "device_identities") == []
    assert not (database.root / "agents/main/agent").joinpath("openclaw-agent.sqlite-shm").exists()


def test_a_new_row_changes_few_pages(database, tmp_path):
    stage(database.root, tmp_path / "out")
    before = (tmp_path / "out" / DATABASE).read_bytes()
    database.append(S1, user("One more"))
    assert stage(database.root, tmp_path / "out")["changed"] == [DATABASE]
    after = (tmp_path / "out" / DATABASE).read_bytes()
    pages = range(0, len(after), 4096)
    assert sum(before[place : place + 4096] != after[place : place + 4096] for place in pages) <= 4
    assert len(pages) > 40


def test_bytes_of_removed_rows_are_gone(database, tmp_path):
    database.append(S1, user("a sentence that will be removed"))
    stage(database.root, tmp_path / "out")
    assert search(tmp_path / "out", "a sentence that will be removed") == [DATABASE]
    with database.writing() as store:
        store.execute("DELETE FROM transcript_events WHERE seq = 401")
    stage(database.root, tmp_path / "out")
    assert search(tmp_path / "out", "a sentence that will be removed") == []


def test_another_layout_is_written_anew(database, tmp_path):
    stage(database.root, tmp_path / "out")
    with database.writing() as store:
        store.execute("ALTER TABLE session_nodes ADD COLUMN spawned_by TEXT")
        store.execute("PRAGMA user_version=24")
    stage(database.root, tmp_path / "out")
    with closing(sqlite3.connect(tmp_path / "out" / DATABASE)) as store:
        assert store.execute("PRAGMA user_version").fetchone() == (24,)
        assert store.execute("SELECT spawned_by FROM session_nodes").fetchall() == [(None,)]


def test_a_damaged_database_is_withheld_and_named(database, tmp_path):
    path = database.root / DATABASE
    with closing(sqlite3.connect(path)) as store:
        store.execute("PRAGMA journal_mode=DELETE")
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096))
    receipt = stage(database.root, tmp_path / "out")
    assert [item["path"] for item in receipt["withheld"]] == [DATABASE]
    assert_whole(tmp_path / "out")


@pytest.mark.django_db
def test_an_import_of_the_copy_is_an_import_of_the_home(files, real_files, tmp_path):
    for folder, text in (("own", "- tabs\n"), ("shared/notes", "- spaces\n")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "MEMORY.md").write_text(text)
    places = [
        {"id": "main", "workspace": str(tmp_path / "own")},
        {"id": "two", "workspace": str(tmp_path / "shared/notes")},
    ]
    files.write("openclaw.json", {"agents": {"list": places}, "apiKey": "sk-fake-canary"})
    files.transcript(user("Two"), assistant("Yes"))
    stage(files.root, tmp_path / "out")
    collect.run({"source": str(files.root), "as": "ada"}, Progress())
    collect.run({"source": str(tmp_path / "out"), "as": "bob"}, Progress())
    assert dump_tables("agent_bob") == dump_tables("agent_ada")
    for db, text in (("agent_bob", "- tabs\n"), ("agent_bob-two", "- spaces\n")):
        assert [version.content for version in FileSnapshot.objects.using(db)] == [text]


@pytest.mark.django_db
def test_a_copy_never_leads_to_a_folder_of_this_machine(files, real_files, tmp_path):
    """Its paths are those of another machine, and it may lie."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "MEMORY.md").write_text("of this machine")
    stage(files.root, tmp_path / "out")
    entries = [{"id": "main", "workspace": str(tmp_path / "private"), "agentDir": str(tmp_path / "private")}]
    config = {"agents": {"list": entries}, "session": {"store": str(tmp_path / "private" / "sessions.json")}}
    (tmp_path / "out" / "openclaw.json").write_text(json.dumps(config))
    opened = count_opens(lambda: collect.run({"source": str(tmp_path / "out")}, Progress()))
    assert not [path for path in opened if path.startswith(str(tmp_path / "private"))]
    assert Session.objects.using("agent_main").count() == 1
    assert TranscriptEvent.objects.using("agent_main").count() > 4


def test_folders_that_are_refused(files, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    for target, words in (
        (files.root / "copy", "one inside the other"),
        (files.root / "workspace", "one inside the other"),
        (tmp_path, "one inside the other"),
        (tmp_path / "full", "not empty and not a staged folder"),
    ):
        with pytest.raises(CommandError, match=words) as refused:
            stage(files.root, target)
        assert refused.value.returncode == 3
    assert (tmp_path / "full" / "letter.txt").read_text() == "mine"
    assert not (files.root / "copy").exists()
    with pytest.raises(CommandError, match="no OpenClaw folder"):
        stage(tmp_path / "nothing", tmp_path / "out")


def test_two_runs_at_once(files, tmp_path):
    stage(files.root, tmp_path / "out")
    handle = os.open(tmp_path / "out", os.O_RDONLY)
    assert locks.take(handle, wait=False)
    with pytest.raises(CommandError, match="Another run is staging"):
        stage(files.root, tmp_path / "out")
    os.close(handle)
    assert stage(files.root, tmp_path / "out")["is_new"] is False


def test_odd_files_are_not_followed_and_named(files, tmp_path):
    sessions = files.root / "agents" / "main" / "sessions"
    (sessions / f"{S1}.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(sessions / "22222222-2222-4222-8222-222222222222.jsonl")
    (sessions / os.fsdecode(b"33333333-3333-4333-8333-33333333333\xff.jsonl")).write_text("{}")
    os.link(files.root / "openclaw.json", files.root / "workspace" / "USER.md")
    receipt = stage(files.root, tmp_path / "out")
    assert_whole(tmp_path / "out")
    assert len(receipt["withheld"]) == 4
    assert search(tmp_path / "out", "sk-fake-canary", "root:") == []


def test_a_file_that_the_configuration_calls_an_index_is_not_taken_for_one(database, tmp_path):
    for name, content in (("secret.json", {"key": CANARY}), ("id_ed25519", CANARY)):
        place = database.write(f"agents/main/agent/{name}", content)
        database.write("openclaw.json", {"session": {"store": str(place)}})
        receipt = stage(database.root, tmp_path / name)
        assert f"agents/main/agent/{name}" in {item["path"] for item in receipt["withheld"]}
        assert search(tmp_path / name, CANARY) == []
    database.write("openclaw.json", {"session": {"store": str(database.root / DATABASE)}})
    stage(database.root, tmp_path / "database")
    assert len(read_events(tmp_path / "database" / DATABASE)) == 401
    assert search(tmp_path / "database", CANARY) == []


def test_no_home_of_ours_is_begun(files, tmp_path):
    person = tmp_path / "person"
    person.mkdir()
    environment = {"HOME": str(person), "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "openclaw_web", "stage", "--to", str(person / "out"), "--source", str(files.root)]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert os.listdir(person) == ["out"]
    assert_whole(person / "out")
    assert list_files(person / "out")
