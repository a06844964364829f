"""Databases of OpenClaw 2026.9.7 and later, converted from schema 23 (converted_homes.py)."""

import hashlib
import json
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from django.core.management import call_command
from django.urls import reverse

from agents.models import Agent
from collecting import report
from ledger.models import RejectedRecord, Session
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, count_events, run
from tests.collecting.stages.converted_homes import REACTIONS_DDL, convert_agent_database, copy_converted, set_version
from tests.homes import assistant, user
from tests.sqlite_homes import T0, SqliteHome

pytestmark = pytest.mark.django_db
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-2026.9.6"
ONE, TWO = (str(uuid.UUID(int=number)) for number in (1, 2))
REPORT = {"systemPrompt": {"chars": 900}, "injectedWorkspaceFiles": [{"name": "MEMORY.md", "rawChars": 5}]}
SKILLS = {"resolvedSkills": [{"name": "weather", "description": "Says the weather"}]}
LINE = b'{"type":"message","id":"r1","message":{"role":"user","content":"Cold"}}\n'


@pytest.fixture
def home(tmp_path, real_files):
    return SqliteHome(tmp_path / "openclaw")


def session(session_id=ONE):
    return Session.objects.using(MAIN).select_related("prompt_report").get(id=session_id)


def test_it_works(home):
    """Snapshots in rows of their own give the same prompt report as those within the entry."""
    home.session(ONE, user("Hi"), systemPromptReport=REPORT, skillsSnapshot=SKILLS, sessionDiffBaseline={"a": 1})
    run(home)
    before = session().prompt_report.report_json
    Session.objects.using(MAIN).update(prompt_report=None)
    convert_agent_database(home.database())
    result = run(home)
    assert session().prompt_report.report_json == before
    assert json.loads(before)["skills"] == [{"name": "weather", "description": "Says the weather"}]
    known = {"version": 24, "known": 25, "is_newer": False, "rows": {}, "unfamiliar": []}
    assert result["databases"] == {"agents/main/agent/openclaw-agent.sqlite": known}


def test_a_snapshot_that_is_no_object_costs_itself(home):
    home.session(ONE, user("Hi"), systemPromptReport=REPORT, skillsSnapshot=SKILLS)
    convert_agent_database(home.database())
    with home.writing() as store:
        store.execute("UPDATE session_entry_snapshots SET value_json = '[' WHERE field = 'skillsSnapshot'")
    assert run(home)["agents"]["main"]["rejected"] == {"bad_index": 1}
    assert json.loads(session().prompt_report.report_json)["systemPromptChars"] == 900


@pytest.mark.skipif(not SHARED.exists(), reason="the recorded homes are not on this machine")
@pytest.mark.parametrize(("agent", "state"), [(24, 19), (25, 20)])
def test_a_converted_real_home_keeps_every_prompt_report(tmp_path, real_files, agent, state):
    root = copy_converted(SHARED, tmp_path / "openclaw", agent=agent, state=state)
    call_command("collect", source=str(root))
    stored = (Session.objects.using(agent.db).exclude(prompt_report=None).count() for agent in Agent.objects.all())
    assert sum(stored) == 16


def test_fields_of_newer_entries_are_kept(home):
    recap = {"version": 1, "text": "They planned a trip", "sessionId": ONE}
    fields = {"pinnedAt": T0, "archivedAt": T0 + 1, "snoozedUntil": T0 + 2, "status": "interrupted"}
    home.session(ONE, user("Hi"), autoLabel="A trip", activitySummary=recap, **fields)
    home.session(TWO, user("Ho"), key="agent:main:main", activitySummary={**recap, "sessionId": "another"})
    run(home)
    metadata = json.loads(session().metadata)
    assert metadata | fields | {"autoLabel": "A trip", "activitySummary": "They planned a trip"} == metadata
    assert session().title == "A trip"
    assert "activitySummary" not in (session(TWO).metadata or "")


@pytest.mark.parametrize("key", ["agent:main:irc:group:#room", "agent:main:discord:channel:55"])
def test_recaps_and_titles_of_groups_are_withheld_while_somebody_is_opted_out(home, key):
    configuration.put("collector.optedOutSenders", ["bob"])
    home.session(ONE, user("Hi"), key=key, autoLabel="Bob is ill", activitySummary="Bob is ill")
    run(home)
    assert "ill" not in f"{session().metadata}{session().title}"


def test_tables_with_rows_that_are_not_read_are_named(home):
    home.session(ONE, user("Hi"))
    with home.writing() as store:
        store.executescript(REACTIONS_DDL)
        values = {"session_key": "k", "session_id": ONE, "message_id": "r1", "emoji": "+1", "identity_id": "i"}
        home.insert(store, "session_reactions", **values, created_at=T0)
    with home.state() as store:
        store.execute("CREATE TABLE update_runs (id INTEGER)")  # without a row it is not named
    result = run(home)
    words = "Not read of agents/main/agent/openclaw-agent.sqlite: session_reactions (1 row)."
    assert words in report.in_words(result)
    assert "update_runs" not in report.in_words(result)
    assert words in report.in_words(run(home)), "also when nothing is new"


def test_a_higher_schema_is_named_with_what_is_not_read(home, as_admin):
    home.session(ONE, user("Hi"))
    with home.writing() as store:
        store.execute("CREATE TABLE session_songs (words TEXT)")
        store.execute("INSERT INTO session_songs VALUES ('la')")
        store.execute("ALTER TABLE session_nodes ADD COLUMN entry_zstd BLOB")
    set_version(home.database(), 26)
    words = "has schema 26; this version of OpenClaw Web knows schemas up to 25."
    not_read = "Not read: session_songs, session_nodes.entry_zstd."
    for text in (report.in_words(run(home)), as_admin.get(reverse("overview:overview")).text):
        assert words in text and not_read in text


def _store_cold_archive(home, *lines, session=TWO, storage="file", sha256=None, size=None):
    """Store a session as a cold archive, as OpenClaw does, and return the archive's path."""
    records = [{"kind": "header", "version": 1, "sessionId": session, "generation": "g"}]
    records += [{"kind": "event", "row": {"seq": n, "event_json": line, "created_at": T0}} for n, line in lines]
    records += [{"kind": "identity", "row": {"event_id": "r1", "seq": 0}}, {"kind": "fts", "row": {"text": "x"}}]
    blob = zstandard.compress("".join(json.dumps(each) + "\n" for each in records).encode())
    name = f"{hashlib.sha256(blob).hexdigest()}.jsonl.zst"
    with home.writing() as store:
        for column in ("archive_sha256 TEXT", "archive_bytes INTEGER"):
            store.execute(f"ALTER TABLE session_transcript_cold_archives ADD COLUMN {column}")
        values = {"session_id": session, "generation": "g", "archive_name": name, "archived_at": T0}
        values |= {"archive_sha256": sha256 or name[:64], "archive_bytes": size or len(blob), "storage": storage}
        values["archive_blob"] = blob if storage == "sqlite" else None
        home.insert(store, "session_transcript_cold_archives", **values)
    if storage == "file":
        folder = home.root / "agents/main/sessions/cold"
        folder.mkdir(parents=True)
        (folder / name).write_bytes(blob)
    return home.root / "agents/main/sessions/cold" / name


@pytest.mark.parametrize("storage", ["file", "sqlite"])
def test_cold_archives_are_read_as_what_they_hold(home, storage):
    """Nobody deleted these sessions: they are read without --include-deleted, and once."""
    home.session(ONE, user("Hi"))
    lines = [json.dumps({**user("From the cold"), "id": "r1"}), json.dumps({**assistant("Brr"), "id": "r2"})]
    _store_cold_archive(home, *enumerate(lines), storage=storage)
    assert run(home)["agents"]["main"]["rejected"] == {}
    assert (session(TWO).source_state, session(TWO).turn_count) == ("live", 1)
    assert run(home)["bytes_read"] == 0


def test_a_session_that_was_imported_before_it_became_cold_is_not_doubled(home):
    home.session(TWO, user("From the cold"))
    run(home)
    with closing(sqlite3.connect(home.database())) as store:
        lines = [text for (text,) in store.execute("SELECT event_json FROM transcript_events ORDER BY seq")]
        store.execute("DELETE FROM transcript_events")
        store.commit()
    _store_cold_archive(home, *enumerate(lines))
    agent_report = run(home)["agents"]["main"]
    assert (agent_report["records"], agent_report["repeated"], count_events()) == ({}, 2, 2)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"sha256": "0" * 64}, "does not have the hash of its row"),
        ({"size": 7}, "its row says 7"),
        ({}, "there is no such file"),
    ],
)
def test_a_cold_archive_that_is_not_what_its_row_says_is_rejected(home, wrong, why):
    home.session(ONE, user("Hi"))
    path = _store_cold_archive(home, (0, LINE.decode()), **wrong)
    if not wrong:
        path.rename(path.with_name("elsewhere"))
    assert run(home)["agents"]["main"]["rejected"] == {"bad_archive": 1}
    rejected = RejectedRecord.objects.using(MAIN).get()
    assert why in rejected.detail and path.name in rejected.detail
    assert not Session.objects.using(MAIN).filter(id=TWO).exists()
    if not wrong:
        path.with_name("elsewhere").rename(path)
        assert run(home)["agents"]["main"]["rejected"] == {}
        assert session(TWO).turn_count == 1
