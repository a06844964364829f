"""Collecting homes whose transcripts are in databases."""

import hashlib
import os
import sqlite3
import uuid

import pytest
import zstandard

from agents.models import CollectorSource
from collecting import collect
from jobs.progress import Progress
from ledger.models import RejectedRecord, Session, TranscriptEvent
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, count_events, run
from tests.homes import Home, assistant, result, user
from tests.sqlite_homes import CANARY, SqliteHome

pytestmark = pytest.mark.django_db
ONE, TWO, THREE = (str(uuid.UUID(int=number)) for number in (1, 2, 3))


@pytest.fixture
def home(tmp_path, real_files):
    return SqliteHome(tmp_path / "openclaw")


def session(session_id=ONE):
    return Session.objects.using(MAIN).get(id=session_id)


def count_reasons(report):
    """Count the transcripts that were read for each reason."""
    return {word: count for word, count in report["transcripts"].items() if count}


def test_it_works(home):
    calls = [("c1", "exec", {"command": "ls"})]
    home.session(ONE, user("List"), assistant("", *calls), result("c1", "file\n" * 2000), assistant("Here"))
    report = run(home)
    assert report["agents"]["main"]["records"] == {"assistant": 2, "session": 1, "tool_result": 1, "user": 1}
    stored = session()
    assert (stored.turn_count, stored.tool_call_count, stored.source_state) == (1, 1, "live")
    assert stored.session_key == f"agent:main:openai:{ONE[:8]}"
    packed = TranscriptEvent.objects.using(MAIN).get(kind="tool_result")
    assert "file" in packed.event_json


def test_only_what_was_appended_is_read(home):
    home.session(ONE, user("Hi")).session(TWO, user("Hello"))
    assert run(home)["bytes_read"] > 0
    again = run(home)
    assert (again["records"], again["bytes_read"]) == (0, 0), "what has not changed is not copied"
    home.append(ONE, assistant("There"))
    report = run(home)["agents"]["main"]
    assert count_reasons(report) == {"appended": 1, "unchanged": 1}
    assert (report["records"], report["repeated"]) == ({"assistant": 1}, 0)
    assert session().turn_count == 1


def test_records_in_the_log_are_read(home):
    home.session(ONE, user("Hi"))
    writer = sqlite3.connect(home.database())
    writer.execute("PRAGMA wal_autocheckpoint=0")
    home.event(writer, ONE, 2, '{"type":"message","id":"late","parentId":"r1","message":{"role":"user","content":"x"}}')
    writer.commit()
    try:
        assert os.path.getsize(f"{home.database()}-wal") > 0
        run(home)
        assert count_events() == 3
    finally:
        writer.close()


@pytest.mark.parametrize("has_watermarks", [True, False])
def test_a_session_that_was_rewritten_is_read_from_its_start(home, has_watermarks):
    home.session(ONE, user("One"), assistant("Two"))
    if not has_watermarks:
        with home.writing() as store:
            store.execute("DROP TABLE transcript_rewrite_watermarks")
    run(home)
    with home.writing() as store:
        text = '{"type":"message","id":"new","parentId":"r1","timestamp":"2026-02-21T03:01:00Z",'
        text += '"message":{"role":"assistant","content":"Else"}}'
        store.execute(
            "UPDATE transcript_events SET event_json = ?, event_zstd = NULL, created_at = 5 WHERE seq = 2", (text,)
        )
        if has_watermarks:
            store.execute("UPDATE transcript_rewrite_watermarks SET generation = 'g2'")
    report = run(home)["agents"]["main"]
    assert count_reasons(report) == {"replaced": 1}
    assert (report["records"], report["repeated"]) == ({"assistant": 1}, 2)
    assert session().leaf_record_id == "new"


def test_a_killed_collect_is_completed_by_the_next(home, monkeypatch):
    home.session(ONE, user("One")).session(TWO, user("Two"))
    run(home)
    home.session(THREE, user("Three"))
    home.append(ONE, assistant("More"))
    CollectorSource.objects.filter(kind="transcript").delete()  # as if it was killed before it stored its position
    report = run(home)["agents"]["main"]
    assert report["records"] == {"assistant": 1, "session": 1, "user": 1}
    assert report["repeated"] == 4


def test_archives_wait_for_include_deleted(home):
    home.session(ONE, user("Live"))
    home.archive(TWO, user("Gone"), assistant("Yes"))
    home.archive(THREE, user("Reset"), reason="reset", encoding="identity")
    report = run(home)["agents"]["main"]
    assert count_reasons(report) == {"new": 1, "skipped_deleted": 1, "skipped_reset": 1}
    assert not Session.objects.using(MAIN).filter(id=TWO).exists()
    run(home, include_deleted=True)
    assert {row.id: row.source_state for row in Session.objects.using(MAIN).all()} == {
        ONE: "live",
        TWO: "deleted",
        THREE: "reset",
    }
    assert session(TWO).turn_count == 1
    assert session(TWO).session_key == "agent:main:main"
    again = run(home, include_deleted=True)
    assert (again["records"], again["bytes_read"]) == (0, 0)
    assert run(home)["bytes_read"] == 0  # an import with deleted sessions covers one without them


def test_a_session_that_is_archived_later_says_so(home):
    home.session(ONE, user("Hi"))
    run(home)
    with home.writing() as store:
        store.execute("DELETE FROM transcript_events")
    home.archive(ONE, user("Hi"))
    run(home)
    assert session().source_state == "deleted"
    assert session().record_count == 2
    run(home)
    assert session().source_state == "deleted"


def test_an_archive_is_read_once_though_it_is_a_file_as_well(home):
    name, blob = home.archive(TWO, user("Gone"))
    home.session(ONE, user("Hi"))
    (home.root / "agents/main/sessions").mkdir()
    (home.root / "agents/main/sessions" / name).write_bytes(blob)
    report = run(home, include_deleted=True)["agents"]["main"]
    assert (report["records"], report["repeated"]) == ({"session": 2, "user": 2}, 0)


def test_packed_files_of_a_session_the_database_does_not_know(tmp_path, real_files):
    home = Home(tmp_path / "files")
    script = home.transcript(user("Gone"), assistant("Yes"), session=ONE)
    packed = zstandard.compress(script.path.read_bytes())
    script.path.unlink()
    script.path.with_name(f"{ONE}.jsonl.deleted.2026-02-21T03-07-21.630Z.abc.zst").write_bytes(packed)
    script.path.with_name(f"{TWO}.jsonl.reset.2026-02-21T03-07-21.630Z.abc.zst").write_bytes(packed[:-9] + b"\0" * 9)
    report = run(home, include_deleted=True)["agents"]["main"]
    assert report["records"]["user"] >= 1
    assert report["rejected"] == {"bad_zstd": 1}
    assert session().source_state == "deleted"


def test_both_layouts_are_one_session(home):
    home.session(ONE, user("One"), assistant("Two"))
    (home.root / "agents/main/sessions").mkdir()
    home.transcript({"id": "r1", **user("One")}, session=ONE)
    report = run(home)["agents"]["main"]
    assert report["records"] == {"assistant": 1, "session": 1, "user": 1}
    assert report["repeated"] == 2
    assert session().leaf_record_id == "r2"


def test_bad_records_are_rejected_one_by_one(home):
    home.session(ONE, user("Good"))
    home.append(ONE, "{not json", '["list"]', b"not zstd", zstandard.compress(b"x" * 17 * 1024 * 1024), user("End"))
    with home.writing() as store:
        home.event(store, "../../odd", 0, "{}")
    report = run(home)["agents"]["main"]
    assert report["rejected"] == {"bad_session": 1, "bad_zstd": 2, "not_an_object": 1, "truncated": 1}
    assert report["records"] == {"session": 1, "user": 2}
    assert RejectedRecord.objects.using(MAIN).filter(session_id=ONE).count() == 4


def test_a_damaged_database_does_not_stop_the_rest(tmp_path, real_files):
    home = SqliteHome(tmp_path / "openclaw", agents=("main", "other"))
    for number in range(40):
        home.session(str(uuid.UUID(int=number + 10)), user("x" * 900), agent="other")
    home.session(ONE, user("Good"))
    data = bytearray(home.database("other").read_bytes())
    data[3 * 4096 : 12 * 4096] = os.urandom(9 * 4096)
    home.database("other").write_bytes(data)
    report = run(home)
    assert report["agents"]["other"]["rejected"] == {"bad_database": 1}
    assert report["agents"]["main"]["records"] == {"session": 1, "user": 1}
    assert RejectedRecord.objects.using("agent_other").get().reason == "bad_database"
    home.database("other").write_bytes(b"no database at all")
    assert run(home)["agents"]["other"]["rejected"] == {"bad_database": 1}


def test_the_source_is_untouched(home):
    home.session(ONE, user("Hi"))
    home.archive(TWO, user("Gone"))
    writer = sqlite3.connect(home.database())
    writer.execute("UPDATE session_nodes SET label = 'x'")
    writer.commit()
    try:
        before = tree(home.root)
        run(home, include_deleted=True)
        assert tree(home.root) == before
    finally:
        writer.close()


def tree(root):
    return {
        str(path.relative_to(root)): (path.stat().st_mtime_ns, path.stat().st_size, digest(path))
        for path in sorted(root.rglob("*"))
    }


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def test_no_secret_reaches_our_home(home, real_files):
    home.session(ONE, user("Hi"))
    run(home)
    assert CANARY.encode() in home.database().read_bytes()
    for file in real_files.rglob("*"):
        is_ours = file.is_file() and not file.is_relative_to(home.root)
        assert not is_ours or CANARY.encode() not in file.read_bytes()


def test_people_who_opted_out(home):
    configuration.put("collector.optedOutSenders", ["alice"])
    home.session(ONE, user("Secret"), key="agent:main:irc:direct:alice")
    home.session(TWO, user("Open"), key="agent:main:irc:direct:bob")
    report = run(home)["agents"]["main"]
    assert report["opted_out_sessions"] == 1
    assert [row.id for row in Session.objects.using(MAIN).all()] == [TWO]
    configuration.put("collector.optedOutSenders", [])
    run(home)
    assert Session.objects.using(MAIN).count() == 2


def test_a_home_of_an_unknown_version_is_read_as_far_as_it_is_known(home):
    home.session(ONE, user("Hi"))
    with home.writing() as store:
        store.execute("PRAGMA user_version=99")
        store.execute("ALTER TABLE session_windows DROP COLUMN channel")
        store.execute("DROP TABLE conversations")
    report = run(home)
    assert report["agents"]["main"]["records"] == {"session": 1, "user": 1}
    assert report["databases"]["agents/main/agent/openclaw-agent.sqlite"]["is_newer"]


def test_windows_name_sessions_that_no_node_is_at(home):
    home.session(ONE, user("Old"), key="agent:main:telegram:direct:77")
    home.session(TWO, user("New"), key="agent:main:telegram:direct:77")
    run(home)
    assert (session(ONE).session_key, session(ONE).channel_id) == ("agent:main:telegram:direct:77", "telegram")
    assert session(ONE).conversation_target == "77"


def test_our_own_home_is_refused(real_files):
    with pytest.raises(Refused):
        collect.run({"source": str(real_files)}, Progress())


def test_what_was_imported_into_a_database_is_read_once(home):
    home.session(ONE, user("One"), assistant("Two"))
    folder = home.root / "agents/main/session-sqlite-import-archive"
    for session_id in (ONE, TWO):
        (home.root / "agents/main/sessions").mkdir(exist_ok=True)
        file = home.transcript(user("From before"), session=session_id).path
        folder.mkdir(exist_ok=True)
        file.rename(folder / f"agent_main_{session_id[-1]}.{session_id}.jsonl.imported-1795231048843")
    report = run(home)["agents"]["main"]
    assert count_reasons(report) == {"new": 1, "skipped_imported": 2}
    assert (report["records"], report["repeated"]) == ({"assistant": 1, "session": 1, "user": 1}, 0)
    report = run(home, include_deleted=True)["agents"]["main"]
    assert count_reasons(report) == {"unchanged": 1, "skipped_imported": 1, "new": 1}
    assert session(TWO).source_state == "bak"
    again = run(home, include_deleted=True)
    assert (again["records"], again["bytes_read"]) == (0, 0)
