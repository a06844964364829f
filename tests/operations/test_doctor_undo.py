"""`doctor --undo`: exactly what a run brought in first goes, evidence holds it back, and collects leave it out."""

import uuid
from pathlib import Path

import orjson
import pytest

from tests.homes import Home, assistant, user
from tests.operations.backing_up import python, run, tables
from tests.operations.doctoring import doctor, fill, rows
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.kill


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def source(home):
    return Home(Path(f"{home}-source"), agents=("main", "research"))


def collected(home):
    status, out, _err = run(home, "collect", "--json", "--quiet")
    assert status == 0
    return orjson.loads(out)


def sessions(home, agent="main"):
    return {one for (one,) in rows(home, "SELECT id FROM sessions", agent)}


def content(home):
    """What is told of sessions."""
    names = ("sessions", "transcript_events", "conversation_turns", "session_days", "session_tools", "tool_days")
    return {key: found for key, found in tables(home).items() if key[1] in names and "agents/" in key[0]}


def test_it_works(home, source):
    first = source.transcript(user("First"), assistant("Here")).session
    collected(home)
    before = content(home)
    ids = fill(source)
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    assert sessions(home) == {first, *ids[0::2]}
    undone, _status = doctor(home, "--undo", fixed["id"], status=0)
    assert (undone["verb"], undone["run"]["sessions"]) == ("undo", {"main": 2, "research": 1})
    assert sessions(home) == {first} and sessions(home, "research") == set()
    assert content(home) == before
    told = dict(rows(home, "SELECT source_path, status FROM migration_sources"))
    assert {path for path, status in told.items() if status == "ignored"} == {
        path for path in told if any(one in path for one in ids)
    }
    assert rows(home, "SELECT status FROM migration_runs") == [("undone",)]

    report = collected(home)
    assert report["agents"]["main"]["ignored_sessions"] == 2 and sessions(home) == {first}
    assert "2 sessions that were undone before and stay out" in run(home, "collect")[1]
    looked, _status = doctor(home)
    assert {one["why"] for one in looked["sources"] if any(name in one["path"] for name in ids)} == {"undone"}
    new = source.transcript(user("New")).session
    assert doctor(home, "--fix", status=0)[0]["run"]["sessions"] == {"main": 1}
    assert sessions(home) == {first, new}
    assert "nothing to undo" in doctor(home, "--undo", fixed["id"], status=2)[0]["error"]


def test_what_was_there_before_stays(home, source):
    script = source.transcript(user("One"))
    doctor(home, "--fix", status=0)
    script.add(assistant("More"))
    second = doctor(home, "--fix", status=0)[0]["run"]
    assert second["sessions"] == {}
    doctor(home, "--undo", second["id"], status=0)
    assert sessions(home) == {script.session}
    assert rows(home, "SELECT count(*) FROM transcript_events", "main") == [(3,)]


def test_evidence_holds_it_back(home, source):
    ids = fill(source, sessions=4)
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    before = content(home)
    make = "from datasets.models import DatasetSample as S\nfrom gate.models import MemoryGateDecision as D\n"
    make += f"S.objects.create(id='s', sample_type='annotated_turn', session_id='{ids[0]}', agent_id='main',"
    make += " content='{}', created_at=1)\n"
    make += f"D.objects.using('agent_main').create(id='d', session_id='{ids[2]}', decision='NO_WRITE', reason='x',"
    make += " created_at=1)\n"
    python(home, make)
    refused, _status = doctor(home, "--undo", fixed["id"], status=2)
    assert {one["id"]: one["reason"] for one in refused["reasons"]} == {
        f"main/{ids[0]}": "samples",
        f"main/{ids[2]}": "decisions",
    }
    assert content(home) == before
    assert rows(home, "SELECT count(*) FROM migration_sources WHERE status = 'ignored'") == [(0,)]


def test_sessions_of_a_database(home):
    source = SqliteHome(Path(f"{home}-source"))
    one, two, three = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
    source.session(one, user("One"))
    collected(home)
    source.session(two, user("Two"), assistant("x"))
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    doctor(home, "--undo", fixed["id"], status=0)
    assert sessions(home) == {one}
    source.session(three, user("Three"))
    source.append(two, user("Two goes on", key=1))
    report = collected(home)
    assert sessions(home) == {one, three} and report["agents"]["main"]["ignored_sessions"] == 1


def test_after_sources_are_gone(home, source):
    fill(source)
    fixed = doctor(home, "--fix", "--sources", "remove", "--force", status=0)[0]["run"]
    refused, _status = doctor(home, "--undo", fixed["id"], status=2)
    assert "backup folder" in refused["error"]
    doctor(home, "--undo", fixed["id"], "--force", status=0)
    assert sessions(home) == set()
