"""`collect --again` rebuilds sessions from their sources.

A lost file is never taken for an empty one.
"""

import json
import shutil
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents import holdings
from agents.models import Agent, CollectedSession, CollectorSource
from artifacts.models import Artifact
from collecting import read_again
from datasets.models import DatasetMember, DatasetSample, SampleLabel, VersionTaint
from datasets.releases import verification
from datasets.review import verdicts
from datasets.services import make_samples as make
from gate.models import MemoryGateDecision
from guardian.models import WriteGuardianAudit
from jobs import execution
from ledger import checks, rules
from ledger.models import ConversationContext, ConversationTurn, RejectedRecord, Session, TranscriptEvent
from ledger.rebuild import sums
from ledger.transcripts import removal, session_rows
from openclaw_web.errors import Refused
from operations.retention import archive_files, archive_restore
from operations.retention import services as retention
from people.configuration import setting_values as configuration
from tests import factories
from tests.collecting.collect_runs import (
    DERIVED,
    LONG,
    MAIN,
    SilentProgress,
    count_events,
    damage_rows,
    delete_database,
    dump_tables,
    run,
    write_conversation,
)
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.homes import assistant, result, user
from tests.operations.retention.test_archive_restore import forge_archive
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.django_db
ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'


def test_what_is_whole_stays_as_it_is(home):
    write_conversation(home).raw("not a record\n")
    write_conversation(home)
    run(home)
    before = dump_tables()
    again = run(home, again=True)["again"]["main"]
    assert (again["unchanged"], again["rebuilt"], again["added"]) == (2, 0, {})
    assert dump_tables() == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM transcript_events WHERE seq % 3 = 1",
        "DELETE FROM transcript_events",
        "UPDATE transcript_events SET event_id = NULL WHERE seq > 4",
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
    write_conversation(home)
    run(home)
    before = dump_tables()
    damage_rows(MAIN, statement)
    assert dump_tables() != before
    report = run(home, again=True)
    assert dump_tables() == before
    assert report["lost"] == {}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    gone=st.sets(st.integers(0, 40)),
    tables=st.sets(st.sampled_from(("transcript_events", "transcript_snapshots", "conversation_turns"))),
)
def test_any_rows_that_go_come_back(home, gone, tables):
    if not CollectorSource.objects.filter(root=str(home.root)).exists():
        write_conversation(home, session=str(uuid.UUID(int=1)), turns=6)
        run(home)
        home.before = dump_tables()
    for table in tables:
        for number in gone:
            damage_rows(MAIN, f"DELETE FROM {table} WHERE rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {number})")
    run(home, again=True)
    after = dump_tables()
    # A turn that lost all of its rows gets a new number; nothing else differs.
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
    before = dump_tables()
    assert len(before["sessions"]) == 2
    damage_rows(MAIN, "DELETE FROM transcript_events WHERE seq IN (1, 2)")
    report = run(home, again=True)  # deleted sessions that were imported are read again without the option
    assert report["again"]["main"]["rebuilt"] == 2
    assert dump_tables() == before


def test_a_file_that_was_renamed_since_is_found(home):
    script = write_conversation(home)
    run(home)
    before = dump_tables()
    script.path.rename(script.path.with_name(script.path.name + ".deleted.2026-02-22T00-00-00.000Z"))
    damage_rows(MAIN, "DELETE FROM transcript_events WHERE seq = 3")
    run(home, again=True)
    assert dump_tables()["transcript_event_identities"] == before["transcript_event_identities"]
    assert len(dump_tables()["transcript_events"]) == len(before["transcript_events"])


def test_records_that_no_source_holds_any_more_stay_where_they_were(home):
    script = write_conversation(home)
    run(home)
    before = dump_tables()
    lines = script.path.read_bytes().splitlines(keepends=True)
    script.path.write_bytes(b"".join(line for number, line in enumerate(lines) if number not in (3, 4, 9)))
    again = run(home, again=True)["again"]["main"]
    assert again["kept"] == 3
    after = dump_tables()
    assert after["transcript_event_identities"] == before["transcript_event_identities"]
    assert after["conversation_turns"] == before["conversation_turns"]


@pytest.mark.parametrize("damaged", [("r3~2",), ("r3", "r3~2")])
def test_damaged_ids_of_records_that_no_source_holds_lose_no_words(home, damaged):
    script = home.transcript(user("One"), assistant("Two"), user("Three"))
    again = {"id": "r3", "parentId": "r2", "timestamp": "2026-02-21T03:09:00.000Z"}
    script.raw(json.dumps(user("Another three") | again) + "\n")
    run(home)
    lines = script.path.read_bytes().splitlines(keepends=True)
    script.path.write_bytes(b"".join(lines[:3]))
    for number, record_id in enumerate(damaged):
        damage_rows(MAIN, "UPDATE transcript_events SET event_id = %s WHERE event_id = %s", f"x{number}", record_id)
    run(home, again=True)
    texts = str([*TranscriptEvent.objects.using(MAIN).values_list("event_json", flat=True)])
    assert count_events() == 5 and all(words in texts for words in ("Three", "Another three"))


def test_records_without_an_id_keep_their_names(home):
    script = home.transcript()
    for number in range(4):
        line = {"type": "message", "message": {"role": "user", "content": f"Question {number % 2}"}}
        script.raw(json.dumps(line) + "\n")
    run(home)
    before = dump_tables()
    assert "'@" in str(before["transcript_event_identities"])
    run(home, again=True)
    assert dump_tables() == before
    lines = script.path.read_bytes().splitlines(keepends=True)
    script.path.write_bytes(b"".join([lines[0], *lines[2:]]))  # everything after the first stands elsewhere now
    again = run(home, again=True)["again"]["main"]
    assert again["kept"] == 1
    assert dump_tables()["transcript_event_identities"] == before["transcript_event_identities"]


def test_without_a_source_a_session_stays_and_is_named(home):
    script = write_conversation(home)
    write_conversation(home)
    run(home)
    before = dump_tables()
    script.path.unlink()
    again = run(home, again=True)["again"]["main"]
    assert again["without_source"] == [script.session]
    assert dump_tables() == before


def test_one_session_alone(home):
    first, other = write_conversation(home), write_conversation(home)
    home.index({"agent:main:main": {"sessionId": first.session}})
    run(home)
    damage_rows(MAIN, "DELETE FROM transcript_events WHERE seq = 2")
    again = run(home, again=True, agent="main", session=["agent:main:main"])["again"]["main"]
    assert (again["rebuilt"], again["unchanged"]) == (1, 0)
    assert count_events() == 2 * 18 - 1
    run(home, again=True, agent="main", session=[other.session])
    assert count_events() == 2 * 18
    with pytest.raises(Refused, match="no session nobody"):
        run(home, again=True, agent="main", session=["nobody"])
    with pytest.raises(Refused, match="no agent research"):
        run(home, again=True, agent="research")


def test_evidence_and_what_it_names_stay(home, admin):
    script = write_conversation(home)
    run(home)
    turn = ConversationTurn.objects.using(MAIN).get(turn_number=2)
    (sample,) = make_samples(turn)
    damage_rows(MAIN, "DELETE FROM conversation_turns")
    damage_rows(MAIN, "DELETE FROM transcript_events WHERE turn_number = 2")
    run(home, again=True)
    sample.refresh_from_db()
    rebuilt = ConversationTurn.objects.using(MAIN).get(id=sample.turn_id)
    assert (rebuilt.turn_number, rebuilt.session_id) == (2, script.session)


def make_samples(turn):
    make(Agent.objects.get(agent_id="main"), turn.session_id, [turn.turn_number], by="root")
    return DatasetSample.objects.filter(turn_id=turn.id)


# What was taken out on purpose


def test_sessions_that_retention_removed_do_not_come_back(home, later):
    write_conversation(home)
    run(home)
    later(hours=24 * 4000)
    retention.remove_sessions({"days": 30}, SilentProgress())
    assert count_events() == 0
    assert run(home, again=True)["again"]["main"]["new"] == 0
    assert count_events() == 0
    # Nor when a removal stopped before it was noted, and the agent's file, which knew of it, was lost.
    CollectedSession.objects.all().delete()
    run(home)
    delete_database("main")
    run(home, again=True)
    assert count_events() == 0


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
    report = run(home, again=True)
    again = report["again"]["main"]
    assert again["taken_out"] == [direct.session]
    assert again["withheld"] == {group.session: 4}
    texts = str(dump_tables())
    assert "Hi Bob" in texts
    assert "ecret" not in texts
    assert "private" not in texts
    held = report["still_held"]
    assert held.pop("artifacts") == [{"handle": handle, "used_by": []}]
    assert held == {"samples": [sample.id], "decisions": [], "writes": [], "backups": []}
    assert holdings.read_removed("main") == {direct.session: "opted_out"}
    # once they want to be collected again, everything is back
    configuration.put("collector.optedOutSenders", [])
    run(home, again=True)
    assert "my secret" in str(dump_tables())
    assert "private" in str(dump_tables())
    turns = ConversationTurn.objects.using(MAIN).filter(session_id=group.session)
    assert list(turns.order_by("turn_number").values_list("turn_number", "is_active")) == [(1, True), (2, True)]


def test_a_transcript_without_a_record_stops_nothing(home):
    write_conversation(home)
    run(home)
    (home.root / "agents/main/sessions/99999999-1111-4222-8333-444444444444.jsonl").touch()
    run(home)
    assert run(home, again=True)["again"]["main"]["rebuilt"] == 0


def test_the_index_brings_no_words_of_people_who_opted_out(home):
    configuration.put("collector.optedOutSenders", ["carol"])
    group = home.transcript(user(ENVELOPE % ("bob", "Hello")), assistant("Hi"))
    entry = {"sessionId": group.session, "label": "my secret", "displayName": "my secret"}
    home.index({"agent:main:irc:group:#lab": entry})
    run(home, again=True)
    assert "secret" not in str(dump_tables())


def test_without_a_source_words_are_withheld_all_the_same(home):
    group = home.transcript(user(ENVELOPE % ("bob", "Hello")), user(ENVELOPE % ("carol", "my secret")), assistant("ok"))
    group.raw('{"type": "broken secret\n')
    home.index({"agent:main:irc:group:#lab": {"sessionId": group.session}})
    run(home)
    group.path.unlink()
    configuration.put("collector.optedOutSenders", ["carol"])
    again = run(home, again=True)["again"]["main"]
    assert (again["without_source"], again["withheld"]) == ([group.session], {group.session: 2})
    assert "secret" not in str(dump_tables()) and "Hello" in str(dump_tables())


def test_a_record_that_calls_itself_withheld_is_kept(home):
    script = home.transcript(user("One")).add({"type": "withheld", "data": "hidden command"})
    run(home)
    assert "hidden command" in str(dump_tables())
    run(home, again=True)
    assert "hidden command" in str(dump_tables()) and script.session


def test_a_kept_message_of_somebody_who_said_the_same_stays(home):
    group = home.transcript(
        user(ENVELOPE % ("bob", "ok")),
        assistant("fine"),
        user(ENVELOPE % ("carol", "ok")),
        assistant("sure"),
        user(ENVELOPE % ("bob", "Bye")),
        assistant("Bye"),
    )
    home.index({"agent:main:irc:group:#lab": {"sessionId": group.session}})
    run(home)
    make_samples(ConversationTurn.objects.using(MAIN).get(turn_number=3))
    contexts = ConversationContext.objects.using(MAIN)
    assert [row.message for row in contexts.order_by("sequence_number")] == ["ok", "fine", "ok", "sure"]
    configuration.put("collector.optedOutSenders", ["carol"])
    run(home, again=True)
    assert [row.message for row in contexts.order_by("sequence_number")] == ["ok", "fine"]


def test_lines_that_can_be_read_by_now_are_no_rejects_any_more(home):
    script = write_conversation(home)
    run(home)
    db_file = CollectorSource.objects.get(kind="transcript").path
    RejectedRecord.objects.using(MAIN).create(
        file=db_file, byte_offset=5, byte_length=1, reason="unreadable_line", session_id=script.session, created_at=1
    )
    damage_rows(MAIN, "DELETE FROM transcript_events WHERE seq = 1")
    run(home, again=True)
    assert not RejectedRecord.objects.using(MAIN).exists()


OLDER = (
    "UPDATE sessions SET rules = 1",
    "UPDATE conversation_turns SET agent_message_content = 'as older rules read it', answer_state = 'canned'",
)


@pytest.mark.parametrize("has_sources", [True, False])
def test_sessions_of_older_rules_are_read_again_by_a_job(home, has_sources):
    """Also when another agent of the folder is gone from it."""
    write_conversation(home)
    write_conversation(home)
    (home.root / "agents/gone/sessions").mkdir(parents=True)
    home.transcript(user("One?"), assistant("First."), agent="gone")
    run(home)
    shutil.rmtree(home.root / "agents" / "gone")
    damage_rows("agent_gone", OLDER[0])
    before = dump_tables()
    for statement in OLDER:
        damage_rows(MAIN, statement)
    assert Session.objects.using(MAIN).list_ids_to_read_again().count() == 2
    (note,) = [check for check in checks.CHECKS if check.name == "older_rules"]
    assert note.rows(MAIN, is_deep=False).count == 2
    run(home)  # an import alone reads nothing again
    assert note.rows(MAIN, is_deep=False).count == 2
    if not has_sources:
        home.root.rename(home.root.with_name("elsewhere"))
    assert read_again.run({}, SilentProgress())["message"] == "3 sessions were read again by the rules of this version."
    assert Session.objects.using("agent_gone").get().rules == rules.VERSION
    assert dump_tables() == before
    assert note.rows(MAIN, is_deep=True).count == 0
    assert read_again.run({}, SilentProgress())["sessions"] == 0


def pretend_older_rules(session, place, kind):
    """Make the turns of a session as if rules took the record at `place` for one of another kind."""
    TranscriptEvent.objects.using(MAIN).filter(session_id=session, seq=place).update(kind=kind)
    sums.rebuild_session(MAIN, session)
    damage_rows(MAIN, "UPDATE sessions SET rules = 1")


def store_evidence(session):
    """Samples that somebody approved, a decision and a write of each turn of a session, by the number of the turn."""
    make(Agent.objects.get(agent_id="main"), session, None, by="root", include_excluded=True)
    samples = DatasetSample.objects.filter(session_id=session).order_by("turn_number")
    for sample in samples:
        verdicts.label_sample(sample.id, "approved", by="root")
        number = WriteGuardianAudit.objects.using(MAIN).count()
        names = {"session_id": session, "turn_id": sample.turn_id}
        factories.DecisionFactory(db=MAIN, id=f"d{number}", **names)
        more = {"target_file": "MEMORY.md", "candidate_fact": "Likes tea.", "status": "written", "created_at": number}
        WriteGuardianAudit.objects.using(MAIN).create(id=f"w{number}", **names, **more)
    return {sample.turn_number: sample.id for sample in samples}


def find_turns(model, session):
    rows = model.objects.using(MAIN if model is not DatasetSample else None).filter(session_id=session)
    return sorted(turn_id.removeprefix(f"{session}:") for turn_id in rows.values_list("turn_id", flat=True))


@pytest.mark.parametrize("is_archived", [False, True])
def test_what_people_entered_follows_turns_that_are_joined_split_or_numbered_anew(home, tmp_path, is_archived):
    """Also when the sessions were archived under the older rules, and are restored after the update."""
    joined = home.transcript(user("One?"), assistant("First."), assistant("More."), user("Two?"), assistant("Second."))
    split = home.transcript(user("Three?"), assistant("Third."), user("Four?"), assistant("Fourth."))
    run(home)
    pretend_older_rules(joined.session, 2, "user")
    pretend_older_rules(split.session, 3, "assistant")
    samples = [*store_evidence(joined.session).values(), *store_evidence(split.session).values()]
    version = make_release(make_dataset())
    factories.DecisionFactory(db=MAIN, id="lost", session_id=split.session, turn_id=f"{split.session}:gone")
    if is_archived:
        for session in (joined.session, split.session):
            archive_as_older(session, tmp_path / "archive")
        paths = archive_restore.find_archives([str(tmp_path / "archive")])
        restored = archive_restore.restore_archives(paths, SilentProgress(), by="root")
        assert (restored["restored"], restored["failed"]) == (2, [])
        assert archive_restore.restore_archives(paths, SilentProgress(), by="root")["there"] == 2
        message = restored["message"]
    else:
        message = read_again.run({}, SilentProgress())["message"]
    assert "2 samples have other words now." in message
    assert "The turn of 1 decision is not stored any more: lost." in message
    assert not Session.objects.using(MAIN).list_ids_to_read_again()
    for model in (DatasetSample, MemoryGateDecision, WriteGuardianAudit):  # of the turns r2, which was joined, and r4
        assert find_turns(model, joined.session) == ["r1", "r4"], model
    assert find_turns(DatasetSample, split.session) == ["r1"]
    rows = DatasetSample.objects.in_bulk(samples)
    assert [rows[name].turn_traits for name in samples] == ["changed_since", "", "changed_since"]
    assert [rows[name].annotation_status for name in samples] == ["needs_review", "approved", "needs_review"]
    numbers = {turn.id: turn.turn_number for turn in ConversationTurn.objects.using(MAIN)}
    assert all(row.turn_number == numbers[row.turn_id] for row in rows.values())
    assert SampleLabel.objects.filter(sample_id__in=samples, status="approved").count() == 3
    assert DatasetMember.objects.filter(version=version).count() == 3  # members stay
    while execution.run_next():  # the check of releases is queued
        pass
    assert VersionTaint.objects.filter(version=version, reason="changed_since").count() == 2
    result = verification.verify(version)
    assert result["is_intact"] and result["taints"] == {"changed_since": 2}
    assert "2 should not be used any more." in result["message"]


def archive_as_older(session, out):
    """Archive a session as a version did that had no rules yet, and remove it."""

    def without_newer_columns(lines):
        for entry in lines:
            for name in session_rows.ADDED.get(entry.get("table"), ()):
                del entry["row"][name]

    draft = out / "draft"
    out.mkdir(exist_ok=True)
    archive_files.write_archive(draft, MAIN, session)
    forge_archive(draft, without_newer_columns).rename(out / f"{session}.jsonl.zst")
    draft.unlink()
    removal.remove_session(MAIN, session, before=2**52, needed_by=lambda _: "", why="archive")


def test_a_session_that_turns_out_to_be_of_a_group_is_read_again(home):
    """Without its index entry nobody knows that the last words were private."""
    script = home.transcript()
    script.add(user("When?"), assistant("", ("m", "message", {"action": "send", "message": "At nine."})))
    script.add(result("m", '{"ok":true}', name="message"), assistant("I told the group."))
    run(home)
    turn = ConversationTurn.objects.using(MAIN)
    assert turn.get().agent_message_content == "At nine.\n\nI told the group."
    home.index({"agent:main:irc:group:#lab": {"sessionId": script.session, "chatType": "group"}})
    run(home)
    assert turn.get().agent_message_content == "At nine."
    assert Session.objects.using(MAIN).get().rules == rules.VERSION
