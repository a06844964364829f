"""`doctor --undo`: removes exactly the sessions that a run imported first.

Evidence prevents it, and later collects leave these sessions out.
"""

import uuid
from pathlib import Path

import orjson
import pytest

from tests.homes import assistant, user
from tests.operations.backups.backup_homes import read_tables, run, run_python
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import change, doctor, fill, rows, unmigrate
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.kill
home, source = doctor_homes.home, doctor_homes.source
SAMPLE = """
from datasets.models import DatasetSample as S
S.objects.create(id="s", sample_type="annotated_turn", session_id="{session}", agent_id="main", content="{{}}",
    created_at=1)
"""
# A decision on the first turn, as a running plugin reports it.
DECISION = """
from agents.models import Agent
from gate.recording.api_import import record_reports
from gate.schemas import DecisionIn
from ledger.models import ConversationTurn
turn = ConversationTurn.objects.using("agent_main").filter(session_id="{session}").order_by("turn_number").first()
record_reports(Agent.objects.get(agent_id="main"), [DecisionIn(id="d", turn_id=turn.id, session_id="{session}",
    decision="NO_WRITE", reason="x", llm_model="m", created_at=turn.created_at)])
"""
MATCHED = """
SELECT d.id, count(t.id) FROM memory_gate_decisions d LEFT JOIN conversation_turns t ON t.id = d.turn_id GROUP BY 1
"""


def collect(home):
    status, out, _err = run(home, "collect", "--json", "--quiet")
    assert status == 0
    return orjson.loads(out)


def read_session_ids(home, agent="main"):
    return {session_id for (session_id,) in rows(home, "SELECT id FROM sessions", agent)}


def read_session_rows(home):
    """Return the rows of sessions and their records, turns and sums."""
    names = ("sessions", "transcript_events", "conversation_turns", "session_days", "session_tools", "tool_days")
    return {
        key: stored_rows for key, stored_rows in read_tables(home).items() if key[1] in names and "agents/" in key[0]
    }


def test_it_works(home, source):
    first = source.transcript(user("First"), assistant("Here")).session
    collect(home)
    before = read_session_rows(home)
    ids = fill(source)
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    assert read_session_ids(home) == {first, *ids[0::2]}
    undone, _status = doctor(home, "--undo", fixed["id"], status=0)
    assert (undone["verb"], undone["run"]["sessions"]) == ("undo", {"main": 2, "research": 1})
    assert read_session_ids(home) == {first} and read_session_ids(home, "research") == set()
    assert read_session_rows(home) == before
    statuses = dict(rows(home, "SELECT source_path, status FROM migration_sources"))
    assert {path for path, status in statuses.items() if status == "ignored"} == {
        path for path in statuses if any(session_id in path for session_id in ids)
    }
    assert rows(home, "SELECT status FROM migration_runs") == [("undone",)]

    report = collect(home)
    assert report["agents"]["main"]["ignored_sessions"] == 2 and read_session_ids(home) == {first}
    assert "2 sessions excluded because their import was undone" in run(home, "collect")[1]
    looked, _status = doctor(home)
    assert {
        source_file["why"] for source_file in looked["sources"] if any(name in source_file["path"] for name in ids)
    } == {"undone"}
    new = source.transcript(user("New")).session
    assert doctor(home, "--fix", status=0)[0]["run"]["sessions"] == {"main": 1}
    assert read_session_ids(home) == {first, new}
    assert "nothing to undo" in doctor(home, "--undo", fixed["id"], status=2)[0]["error"]


def test_what_was_there_before_stays(home, source):
    script = source.transcript(user("One"))
    doctor(home, "--fix", status=0)
    script.add(assistant("More"))
    second = doctor(home, "--fix", status=0)[0]["run"]
    assert second["sessions"] == {}
    doctor(home, "--undo", second["id"], status=0)
    assert read_session_ids(home) == {script.session}
    assert rows(home, "SELECT count(*) FROM transcript_events", "main") == [(3,)]


def test_evidence_holds_it_back(home, source):
    ids = fill(source, sessions=4)
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    before = read_session_rows(home)
    run_python(home, SAMPLE.format(session=ids[0]))
    refused, _status = doctor(home, "--undo", fixed["id"], status=2)
    assert {refusal["id"]: refusal["reason"] for refusal in refused["reasons"]} == {f"main/{ids[0]}": "samples"}
    assert read_session_rows(home) == before
    assert rows(home, "SELECT count(*) FROM migration_sources WHERE status = 'ignored'") == [(0,)]


def test_decisions_stay_and_find_their_turns_again(home, source):
    ids = fill(source, sessions=2)
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    run_python(home, DECISION.format(session=ids[0]))
    before = rows(home, MATCHED, "main")
    assert before == [("d", 1)]
    undone, _status = doctor(home, "--undo", fixed["id"], status=0)
    assert undone["message"].endswith("1 decision of memory_gate about them is kept.")
    assert read_session_ids(home) == set() and rows(home, MATCHED, "main") == [("d", 0)]
    doctor(home, "--unignore", fixed["id"], status=0)
    collect(home)
    assert rows(home, MATCHED, "main") == before


def test_sessions_of_a_database(home):
    source = SqliteHome(Path(f"{home}-source"))
    first, second, third = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
    source.session(first, user("One"))
    collect(home)
    source.session(second, user("Two"), assistant("x"))
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    doctor(home, "--undo", fixed["id"], status=0)
    assert read_session_ids(home) == {first}
    source.session(third, user("Three"))
    source.append(second, user("Two goes on", key=1))
    report = collect(home)
    assert read_session_ids(home) == {first, third} and report["agents"]["main"]["ignored_sessions"] == 1


def test_after_sources_are_gone(home, source):
    fill(source)
    fixed = doctor(home, "--fix", "--sources", "remove", "--force", status=0)[0]["run"]
    refused, _status = doctor(home, "--undo", fixed["id"], status=2)
    assert "backup folder" in refused["error"]
    doctor(home, "--undo", fixed["id"], "--force", status=0)
    assert read_session_ids(home) == set()


def test_what_a_later_run_moved_stays_out_as_well(home, source):
    """Undo covers sources whose rows belong to the later run by then."""
    ids = fill(source)
    first = doctor(home, "--fix", status=0)[0]["run"]
    content_of = {path: path.read_bytes() for path in source.root.rglob("sessions/*.jsonl")}
    moved = doctor(home, "--fix", "--sources", "archive", "--force", status=0)[0]["run"]
    assert moved["sessions"] == {} and len(moved["removed"]) == 6
    refused, _status = doctor(home, "--undo", first["id"], status=2)
    assert "3 sources of these sessions were moved or removed" in refused["error"]
    doctor(home, "--undo", first["id"], "--force", status=0)
    for path, data in content_of.items():
        path.write_bytes(data)
    report = collect(home)
    assert report["agents"]["main"]["ignored_sessions"] == 2 and read_session_ids(home) == set()
    looked, _status = doctor(home)
    assert {(ignored["agent"], ignored["session_id"]) for ignored in looked["ignored"]} == {
        ("main", ids[0]), ("research", ids[1]), ("main", ids[2]),
    }  # fmt: skip


def test_a_later_run_does_not_bring_sessions_of_a_database_back(home):
    source = SqliteHome(Path(f"{home}-source"))
    first, second = (str(uuid.UUID(int=number)) for number in (1, 2))
    source.session(first, user("One"))
    collect(home)
    source.session(second, user("Two"))
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    doctor(home, "--undo", fixed["id"], status=0)
    assert doctor(home, "--fix", status=0)[0]["run"] is None
    source.append(first, user("One goes on", key=1))
    assert doctor(home, "--fix", status=0)[0]["run"]["sessions"] == {}
    collect(home)
    assert read_session_ids(home) == {first}


def test_a_session_that_came_after_the_plan_stays_out(home, source):
    """The run imported the session, although no source of its plan contains it."""
    fill(source)
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    change(home, "DELETE FROM migration_sources WHERE source_path LIKE '%.jsonl'")
    doctor(home, "--undo", fixed["id"], status=0)
    collect(home)
    assert read_session_ids(home) == set()


@pytest.mark.parametrize("made_unusable", ["old", "unregistered"])
def test_what_a_repair_made_usable_was_there_before(home, source, made_unusable):
    first = source.transcript(user("First"), assistant("Here")).session
    doctor(home, "--fix", status=0)
    if made_unusable == "old":
        unmigrate(home, "gate", "main")
    else:
        change(home, "DELETE FROM agent_databases WHERE agent_id = 'main'; DELETE FROM agents WHERE agent_id = 'main'")
    second = source.transcript(user("Second")).session
    fixed = doctor(home, "--fix", status=0)[0]["run"]
    assert fixed["sessions"] == {"main": 1} and len(fixed["repairs"]) == 1
    doctor(home, "--undo", fixed["id"], status=0)
    assert read_session_ids(home) == {first} and second not in read_session_ids(home)


class TestLettingIn:
    def test_it_works(self, home, source):
        ids = fill(source)
        fixed = doctor(home, "--fix", status=0)[0]["run"]
        before = read_session_rows(home)
        doctor(home, "--undo", fixed["id"], status=0)
        collect(home)
        unignored, _status = doctor(home, "--unignore", f"main/{ids[0]}", status=0)
        assert (unignored["verb"], unignored["run"]["let_in"]) == ("unignore", 1)
        assert read_session_ids(home) == set()
        fixed_again = doctor(home, "--fix", status=0)[0]["run"]
        assert read_session_ids(home) == {ids[0]} and fixed_again["sessions"] == {"main": 1}
        assert doctor(home, "--unignore", fixed["id"], status=0)[0]["run"]["let_in"] == 2
        collect(home)
        assert read_session_rows(home) == before
        assert doctor(home)[0]["ignored"] == []
        entries = rows(home, "SELECT detail_json FROM operator_audit WHERE action = 'doctor_unignored' ORDER BY id")
        assert [orjson.loads(detail) for (detail,) in entries] == [{"sessions": 1}, {"sessions": 2}]

    def test_sessions_of_a_database_that_has_not_changed(self, home):
        source = SqliteHome(Path(f"{home}-source"))
        ids = {str(uuid.UUID(int=number)) for number in (1, 2)}
        for session_id in ids:
            source.session(session_id, user("One"), assistant("Two"))
        fixed = doctor(home, "--fix", status=0)[0]["run"]
        before = read_session_rows(home)
        doctor(home, "--undo", fixed["id"], status=0)
        collect(home)
        doctor(home, "--unignore", fixed["id"], status=0)
        collect(home)
        assert read_session_ids(home) == ids and read_session_rows(home) == before

    def test_what_is_not_left_out(self, home, source):
        fill(source)
        doctor(home, "--fix", status=0)
        refused, _status = doctor(home, "--unignore", "main/nothing", status=2)
        assert "not excluded" in refused["error"]
        for option in ("--unignore", "--undo"):
            refused, _status = doctor(home, option, b"\xff/\xff", status=2)
            assert r"\xff/\xff is not UTF-8 text" in refused["error"]
