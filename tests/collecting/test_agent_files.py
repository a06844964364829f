"""A missing or exchanged file of an agent is never taken for an empty one."""

import json
import shutil

import pytest
from django.db import connections

from agents import databases
from agents.models import AgentDatabase, CollectedSession
from ledger.models import Session, TranscriptEvent
from ledger.transcripts import session_rows
from openclaw_web.errors import Refused
from problems.check_pass import check_all
from tests.collecting.collect_runs import MAIN, count_events, delete_database, dump_tables, run, write_conversation
from tests.homes import Home, user
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.django_db


def test_a_file_that_is_gone_is_not_made_again_by_a_collect(home, as_admin):
    write_conversation(home)
    home.transcript(user("Other"), agent="main")
    run(home)
    delete_database("main")
    with pytest.raises(Refused, match="missing, and 20 records with it") as refused:
        run(home)
    assert "collect --again --agent main" in refused.value.sentence
    assert not databases.get_path("main").exists()
    answer = as_admin.get("/agents/main/sessions/")
    assert answer.status_code == 503
    assert answer.text.count("collect --again --agent main") == 1
    assert 'href="/operations/doctor/"' in answer.text
    assert as_admin.get("/api/v1/agents/main/sessions").status_code == 503
    check_all()
    for page in ("/", "/agents/"):
        assert "The database of agent main is missing" in as_admin.get(page).text
    assert not databases.get_path("main").exists()


def test_other_agents_are_collected_meanwhile(home, tmp_path):
    home = Home(tmp_path / "two", agents=("main", "research"))
    home.transcript(user("One"), agent="main")
    home.transcript(user("Two"), agent="research")
    run(home)
    delete_database("main")
    home.transcript(user("Three"), agent="research")
    report = run(home)
    assert report["records"] == 2
    assert list(report["lost"]) == ["main"]
    assert not databases.get_path("main").exists()


def test_a_lost_file_is_filled_again(home):
    write_conversation(home)
    home.write("workspace/MEMORY.md", "Remember the milk")
    run(home)
    before = dump_tables()
    delete_database("main")
    report = run(home, again=True, agent="main")
    assert report["lost"] == {}
    assert dump_tables() == before


def test_a_file_from_before_is_noticed(home, as_admin, later):
    write_conversation(home)
    run(home)
    with connections[MAIN].cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(databases.get_path("main"), home.root.parent / "older.sqlite")
    write_conversation(home, turns=2)
    run(home)
    delete_database("main")
    shutil.copy(home.root.parent / "older.sqlite", databases.get_path("main"))
    databases.get_alias("main")
    later(seconds=10)
    page = as_admin.get("/agents/main/sessions/")
    assert page.status_code == 200
    assert "contains only 18 of 27 records" in page.text
    assert "contains only 18 of 27 records" in run(home)["lost"]["main"]
    assert AgentDatabase.objects.get(agent="main").record_count == 27  # a collect does not lower what was noted
    assert run(home, again=True)["lost"] == {}
    assert count_events() == 27
    later(seconds=20)
    assert "of 27 records" not in as_admin.get("/agents/main/sessions/").text


def test_a_session_that_is_gone_is_read_from_its_start_when_it_goes_on(home):
    script = write_conversation(home)
    run(home)
    session_rows.delete_rows(MAIN, script.session)
    script.add(user("And now?"))
    run(home)
    assert count_events() == 19
    assert Session.objects.using(MAIN).get().record_count == 19


def test_what_was_noted_is_what_is_there(home):
    script = write_conversation(home)
    run(home)
    script.add(user("More"))
    run(home)
    row = CollectedSession.objects.get()
    kinds = TranscriptEvent.objects.using(MAIN).values_list("kind", flat=True)
    assert json.loads(row.kind_counts) == {kind: list(kinds).count(kind) for kind in set(kinds)}
    assert row.record_count == len(kinds) == AgentDatabase.objects.get(agent="main").record_count


def test_the_first_import_of_an_empty_list_of_sessions_says_so(tmp_path, real_files):
    home = SqliteHome(tmp_path / "openclaw")
    home.session("s1", user("Hello"), key="agent:main:main")
    with home.writing() as store:
        store.execute("DELETE FROM session_nodes")
    result = run(home)["agents"]["main"]
    assert result["records"] and any("openclaw#130141" in note for note in result["notes"])
    home.append("s1", user("Again"))
    assert not any("openclaw#130141" in note for note in run(home)["agents"]["main"]["notes"])
