"""`collect --again` makes sessions anew from their sources; a lost file is never taken for an empty one."""

import json
import shutil
import uuid

import pytest
from django.db import connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents import configuration, databases, holdings
from agents.models import Agent, AgentDatabase, CollectedSession, CollectorSource
from artifacts.models import Artifact
from datasets.models import DatasetSample
from datasets.services import make_samples as make
from ledger import session_rows
from ledger.models import ConversationTurn, RejectedRecord, Session, TranscriptEvent
from openclaw_web.errors import Refused
from operations.retention import services as retention
from tests.homes import Home, assistant, result, user
from tests.operations.collecting import MAIN, events, run
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.django_db
LONG = "\n".join(f"line {number} of a long output" for number in range(400))
DERIVED = (
    *("sessions", "transcript_events", "transcript_event_identities", "transcript_snapshots", "conversation_turns"),
    *("session_days", "session_tools", "tool_days", "artifacts", "rejected_records"),
)
ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'


def everything(db=MAIN):
    """Every derived row, without the numbers that SQLite gives."""
    found = {}
    with connections[db].cursor() as cursor:
        for table in DERIVED:
            cursor.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            hidden = {"id", "created_at"} if table == "rejected_records" else set()
            rows = [[value for name, value in zip(names, row, strict=True) if name not in hidden] for row in cursor]
            found[table] = sorted(map(repr, rows))
    return found


def conversation(home, session=None, turns=4):
    script = home.transcript(session=session)
    for turn in range(turns):
        call = f"c{turn}"
        script.add(user(f"Question {turn}"), assistant("I look", (call, "exec", {"n": turn})))
        script.add(result(call, LONG if turn == 1 else "short"), assistant(f"Answer {turn}"))
        if turn == 2:
            script.add({"type": "compaction", "summary": "What was said", "tokensBefore": 9})
    return script


def damage(db, statement, *values):
    with connections[db].cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys=OFF")
        cursor.execute(statement, values)
        cursor.execute("PRAGMA foreign_keys=ON")


def test_what_is_whole_stays_as_it_is(home):
    conversation(home).raw("not a record\n")
    conversation(home)
    run(home)
    before = everything()
    again = run(home, again=True)["again"]["main"]
    assert (again["unchanged"], again["rebuilt"], again["added"]) == (2, 0, {})
    assert everything() == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM transcript_events WHERE seq % 3 = 1",
        "DELETE FROM transcript_events",
        "DELETE FROM transcript_event_identities WHERE seq > 4",
        "DELETE FROM sessions",
        "DELETE FROM conversation_turns WHERE turn_number = 2",
        "DELETE FROM transcript_snapshots",
        "DELETE FROM session_days",
        "DELETE FROM artifacts",
        "UPDATE sessions SET total_tokens = 7, cost_usd = 99, record_count = 1, leaf_record_id = NULL",
        'UPDATE transcript_events SET event_json = \'{"type":"message"}\' WHERE seq = 3',
        "UPDATE transcript_events SET kind = 'unknown', is_active = 0 WHERE seq = 5",
        "UPDATE conversation_turns SET user_message_content = 'something else', cost_usd = 3",
    ],
)
def test_what_was_lost_or_damaged_comes_back(home, statement):
    conversation(home)
    run(home)
    before = everything()
    damage(MAIN, statement)
    assert everything() != before
    found = run(home, again=True)
    assert everything() == before
    assert found["lost"] == {}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(gone=st.sets(st.integers(0, 40)), tables=st.sets(st.sampled_from(DERIVED[1:5])))
def test_any_rows_that_go_come_back(home, gone, tables):
    if not CollectorSource.objects.filter(root=str(home.root)).exists():
        conversation(home, session=str(uuid.UUID(int=1)), turns=6)
        run(home)
        home.before = everything()
    for table in tables:
        for number in gone:
            damage(MAIN, f"DELETE FROM {table} WHERE rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {number})")
    run(home, again=True)
    after = everything()
    # A turn of which nothing at all is left gets a number of its own; nothing else differs.
    for table in set(DERIVED) - {"transcript_events", "conversation_turns"}:
        assert after[table] == home.before[table]
    assert {row.split(",")[0] for row in after["conversation_turns"]} == {
        row.split(",")[0] for row in home.before["conversation_turns"]
    }
    assert len(after["transcript_events"]) == len(home.before["transcript_events"])


def test_a_session_of_a_database_comes_back(home, tmp_path):
    home = SqliteHome(tmp_path / "databases")
    session = str(uuid.UUID(int=5))
    home.session(session, user("One"), assistant("1" * 3000), user("Two"), assistant("2"))
    home.archive(str(uuid.UUID(int=6)), user("Gone"), assistant("Put away"))
    run(home, include_deleted=True)
    before = everything()
    assert len(before["sessions"]) == 2
    damage(MAIN, "DELETE FROM transcript_events WHERE seq IN (1, 2)")
    found = run(home, again=True)  # what was read of deleted sessions is read again without being asked for
    assert found["again"]["main"]["rebuilt"] == 2
    assert everything() == before


def test_a_file_that_was_renamed_since_is_found(home):
    script = conversation(home)
    run(home)
    before = everything()
    script.path.rename(script.path.with_name(script.path.name + ".deleted.2026-02-22T00-00-00.000Z"))
    damage(MAIN, "DELETE FROM transcript_events WHERE seq = 3")
    run(home, again=True)
    assert everything()["transcript_event_identities"] == before["transcript_event_identities"]
    assert len(everything()["transcript_events"]) == len(before["transcript_events"])


def test_records_that_no_source_holds_any_more_stay_where_they_were(home):
    script = conversation(home)
    run(home)
    before = everything()
    lines = script.path.read_bytes().splitlines(keepends=True)
    script.path.write_bytes(b"".join(line for number, line in enumerate(lines) if number not in (3, 4, 9)))
    again = run(home, again=True)["again"]["main"]
    assert again["kept"] == 3
    after = everything()
    assert after["transcript_event_identities"] == before["transcript_event_identities"]
    assert after["conversation_turns"] == before["conversation_turns"]


def test_records_without_an_id_keep_their_names(home):
    script = home.transcript()
    for number in range(4):
        line = {"type": "message", "message": {"role": "user", "content": f"Question {number % 2}"}}
        script.raw(json.dumps(line) + "\n")
    run(home)
    before = everything()
    assert "'@" in str(before["transcript_event_identities"])
    run(home, again=True)
    assert everything() == before
    lines = script.path.read_bytes().splitlines(keepends=True)
    script.path.write_bytes(b"".join([lines[0], *lines[2:]]))  # everything after the first stands elsewhere now
    again = run(home, again=True)["again"]["main"]
    assert again["kept"] == 1
    assert everything()["transcript_event_identities"] == before["transcript_event_identities"]


def test_without_a_source_a_session_stays_and_is_named(home):
    script = conversation(home)
    conversation(home)
    run(home)
    before = everything()
    script.path.unlink()
    again = run(home, again=True)["again"]["main"]
    assert again["without_source"] == [script.session]
    assert everything() == before


def test_one_session_alone(home):
    one, other = conversation(home), conversation(home)
    home.index({"agent:main:main": {"sessionId": one.session}})
    run(home)
    damage(MAIN, "DELETE FROM transcript_events WHERE seq = 2")
    again = run(home, again=True, agent="main", session=["agent:main:main"])["again"]["main"]
    assert (again["rebuilt"], again["unchanged"]) == (1, 0)
    assert events() == 2 * 18 - 1
    run(home, again=True, agent="main", session=[other.session])
    assert events() == 2 * 18
    with pytest.raises(Refused, match="no session nobody"):
        run(home, again=True, agent="main", session=["nobody"])
    with pytest.raises(Refused, match="no agent research"):
        run(home, again=True, agent="research")


def test_evidence_and_what_it_names_stay(home, admin):
    script = conversation(home)
    run(home)
    turn = ConversationTurn.objects.using(MAIN).get(turn_number=2)
    (sample,) = make_samples(turn)
    damage(MAIN, "DELETE FROM conversation_turns")
    damage(MAIN, "DELETE FROM transcript_events WHERE turn_number = 2")
    run(home, again=True)
    sample.refresh_from_db()
    found = ConversationTurn.objects.using(MAIN).get(id=sample.turn_id)
    assert (found.turn_number, found.session_id) == (2, script.session)


def make_samples(turn):
    make(Agent.objects.get(agent_id="main"), turn.session_id, [turn.turn_number], by="root")
    return DatasetSample.objects.filter(turn_id=turn.id)


# What was taken out on purpose


def test_sessions_that_retention_removed_do_not_come_back(home, later):
    conversation(home)
    run(home)
    later(hours=24 * 4000)
    retention.remove({"days": 30}, Quiet())
    assert events() == 0
    assert run(home, again=True)["again"]["main"]["new"] == 0
    assert events() == 0
    # nor when it was removed by an older version, which noted nothing, and the agent's file was lost, which knew it
    CollectedSession.objects.all().delete()
    run(home)
    lose("main")
    run(home, again=True)
    assert events() == 0


def test_what_people_who_opted_out_said_is_withheld_and_what_still_holds_it_is_told(home):
    group = home.transcript(
        user(ENVELOPE % ("bob", "Hello from Bob")),
        assistant("Hi Bob"),
        user(ENVELOPE % ("carol", "my secret")),
        assistant("I look", ("c1", "exec", {})),
        result("c1", "the secret\n" + LONG),
        assistant("I know the secret"),
    )
    direct = home.transcript(user("private words"))
    home.index(
        {
            "agent:main:irc:direct:dave": {"sessionId": direct.session},
            "agent:main:irc:group:#lab": {"sessionId": group.session},
        }
    )
    run(home)
    turn = ConversationTurn.objects.using(MAIN).get(session_id=group.session, turn_number=2)
    (sample,) = make_samples(turn)
    handle = Artifact.objects.using(MAIN).get().handle
    configuration.put("collector.optedOutSenders", ["carol", "dave"])
    found = run(home, again=True)
    again = found["again"]["main"]
    assert again["taken_out"] == [direct.session]
    assert again["withheld"] == {group.session: 4}
    texts = str(everything())
    assert "Hi Bob" in texts
    assert "ecret" not in texts
    assert "private" not in texts
    assert found["still_held"] == {
        "samples": [sample.id],
        "artifacts": [{"handle": handle, "used_by": []}],
        "backups": [],
    }
    assert holdings.removed("main") == {direct.session: "opted_out"}
    # once they want to be collected again, everything is back
    configuration.put("collector.optedOutSenders", [])
    run(home, again=True)
    assert "my secret" in str(everything())
    assert "private" in str(everything())


def test_lines_that_can_be_read_by_now_are_no_rejects_any_more(home):
    script = conversation(home)
    run(home)
    db_file = CollectorSource.objects.get(kind="transcript").path
    RejectedRecord.objects.using(MAIN).create(
        file=db_file, byte_offset=5, byte_length=1, reason="unreadable_line", session_id=script.session, created_at=1
    )
    damage(MAIN, "DELETE FROM transcript_events WHERE seq = 1")
    run(home, again=True)
    assert not RejectedRecord.objects.using(MAIN).exists()


# An agent's file that is gone, or is another one


class Quiet:
    def update(self, *_more):
        pass

    log = update


def lose(agent_id):
    databases.forget(f"agent_{agent_id}")
    for file in databases.path(agent_id).parent.iterdir():
        file.unlink()


def test_a_file_that_is_gone_is_not_made_again_by_a_collect(home, as_admin):
    conversation(home)
    home.transcript(user("Other"), agent="main")
    run(home)
    lose("main")
    with pytest.raises(Refused, match="gone, and 20 records with it") as refused:
        run(home)
    assert "collect --again --agent main" in refused.value.sentence
    assert not databases.path("main").exists()
    answer = as_admin.get("/agents/main/sessions/")
    assert answer.status_code == 503
    assert "collect --again --agent main" in answer.text
    assert as_admin.get("/api/v1/agents/main/sessions").status_code == 503
    for page in ("/", "/agents/"):
        assert "The file of agent main is gone" in as_admin.get(page).text
    assert not databases.path("main").exists()


def test_other_agents_are_collected_meanwhile(home, tmp_path):
    home = Home(tmp_path / "two", agents=("main", "research"))
    home.transcript(user("One"), agent="main")
    home.transcript(user("Two"), agent="research")
    run(home)
    lose("main")
    home.transcript(user("Three"), agent="research")
    found = run(home)
    assert found["records"] == 2
    assert list(found["lost"]) == ["main"]
    assert not databases.path("main").exists()


def test_a_lost_file_is_filled_again(home):
    conversation(home)
    home.write("workspace/MEMORY.md", "Remember the milk")
    run(home)
    before = everything()
    lose("main")
    found = run(home, again=True, agent="main")
    assert found["lost"] == {}
    assert everything() == before


def test_a_file_from_before_is_noticed(home, as_admin, later):
    conversation(home)
    run(home)
    with connections[MAIN].cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(databases.path("main"), home.root.parent / "older.sqlite")
    conversation(home, turns=2)
    run(home)
    lose("main")
    shutil.copy(home.root.parent / "older.sqlite", databases.path("main"))
    databases.alias("main")
    later(seconds=10)
    page = as_admin.get("/agents/main/sessions/")
    assert page.status_code == 200
    assert "holds 18 of the 27 records" in page.text
    assert "holds 18 of the 27 records" in run(home)["lost"]["main"]
    assert AgentDatabase.objects.get(agent="main").record_count == 27  # a collect does not lower what was noted
    assert run(home, again=True)["lost"] == {}
    assert events() == 27
    later(seconds=20)
    assert "of the 27 records" not in as_admin.get("/agents/main/sessions/").text


def test_a_session_that_is_gone_is_read_from_its_start_when_it_goes_on(home):
    script = conversation(home)
    run(home)
    session_rows.delete(MAIN, script.session)
    script.add(user("And now?"))
    run(home)
    assert events() == 19
    assert Session.objects.using(MAIN).get().record_count == 19


def test_what_was_noted_is_what_is_there(home):
    script = conversation(home)
    run(home)
    script.add(user("More"))
    run(home)
    row = CollectedSession.objects.get()
    kinds = TranscriptEvent.objects.using(MAIN).values_list("kind", flat=True)
    assert json.loads(row.kind_counts) == {kind: list(kinds).count(kind) for kind in set(kinds)}
    assert row.record_count == len(kinds) == AgentDatabase.objects.get(agent="main").record_count


def test_what_an_older_version_stored_is_counted_once_its_sources_were_read_again(home):
    conversation(home)
    run(home)
    Session.objects.using(MAIN).update(kind_counts="")
    CollectedSession.objects.all().delete()
    AgentDatabase.objects.update(record_count=0)
    found = run(home)
    assert found["records"] == 0
    assert holdings.total("main") == events()
    assert run(home)["agents"]["main"]["transcripts"] == {"unchanged": 1}
