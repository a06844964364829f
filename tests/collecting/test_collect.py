"""Transcripts that a collect reads: new, appended, replaced and damaged ones."""

import json
import os

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from ledger.models import ConversationTurn, RejectedRecord, Session, TranscriptEvent, TranscriptSnapshot
from overview.models import AgentDailyStat, AgentSummary
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, count_events, count_opens, run
from tests.homes import assistant, result, user

pytestmark = pytest.mark.django_db
AT = 1_767_571_200_000


def test_it_works(home):
    script = home.transcript(user("List the files 请列出"), assistant("I will.", ("c1", "exec", {"command": "ls"})))
    script.add(result("c1", "a.txt"), assistant("There is one file."))
    report = run(home)
    assert (report["records"], report["rejected"]) == (5, 0)
    turn = ConversationTurn.objects.using(MAIN).get()
    assert (turn.id, turn.turn_number) == (f"{script.session}:r1", 1)
    assert (turn.user_message_content, turn.agent_message_content) == ("List the files 请列出", "There is one file.")
    assert (turn.tool_call_count, turn.total_tokens, turn.cost_usd) == (1, 230, 0.02)
    session = Session.objects.using(MAIN).get()
    assert (session.title, session.record_count, session.turn_count) == ("List the files 请列出", 5, 1)
    assert AgentSummary.objects.get().turn_count == 1
    assert AgentDailyStat.objects.get().total_tokens == 230


def test_a_second_run_on_an_unchanged_home_opens_no_transcript(home):
    home.transcript(user("Hello"), assistant("Hi"))
    run(home)
    opened = count_opens(lambda: run(home))
    assert not [path for path in opened if path.endswith(".jsonl")]
    assert count_events() == 3


def test_appended_lines_are_read_from_where_the_last_run_stopped(home):
    script = home.transcript(user("One"), assistant("1"))
    run(home)
    size = script.path.stat().st_size
    script.add(user("Two"), assistant("2"))
    report = run(home)
    assert report["bytes_read"] == script.path.stat().st_size - size
    assert report["agents"]["main"]["transcripts"]["appended"] == 1
    turns = ConversationTurn.objects.using(MAIN).order_by("turn_number")
    assert [turn.agent_message_content for turn in turns] == ["1", "2"]
    assert AgentDailyStat.objects.get().turn_count == 2


def test_lines_appended_to_an_open_turn_join_it(home):
    script = home.transcript(user("One"), assistant("", ("c1", "exec", {"command": "ls"})))
    run(home)
    script.add(result("c1", "x", details={"exitCode": 3}), assistant("It failed."))
    run(home)
    turn = ConversationTurn.objects.using(MAIN).get()
    assert (turn.agent_message_content, turn.error_count) == ("It failed.", 1)
    assert (turn.record_count, turn.total_tokens) == (4, 230)
    assert Session.objects.using(MAIN).get().error_count == 1


def test_an_unfinished_last_line_waits_for_its_end(home):
    script = home.transcript(user("One")).raw('{"type":"message","id":"r2","parentId":"r1","timestamp":"2026')
    report = run(home)
    assert report["agents"]["main"]["unfinished"] == 1
    assert (count_events(), report["rejected"]) == (2, 0)
    script.raw('-02-21T03:00:09.000Z","message":{"role":"assistant","content":"Done"}}\n')
    run(home)
    assert ConversationTurn.objects.using(MAIN).get().agent_message_content == "Done"


def test_a_replaced_file_is_read_again_without_duplicates(home):
    script = home.transcript(user("One"), assistant("1"), user("Two"), assistant("2"))
    run(home)
    copy = script.path.with_suffix(".tmp")
    copy.write_bytes(script.path.read_bytes())
    os.replace(copy, script.path)
    script.add(user("Three"))
    report = run(home)
    assert report["agents"]["main"]["transcripts"]["replaced"] == 1
    assert report["agents"]["main"]["repeated"] == 5
    assert (count_events(), ConversationTurn.objects.using(MAIN).count()) == (6, 3)


def test_a_truncated_file_is_read_again_and_keeps_what_was_seen(home):
    script = home.transcript(user("One"), assistant("1"), user("Two"), assistant("2"))
    run(home)
    lines = script.path.read_bytes().splitlines(keepends=True)
    script.path.write_bytes(b"".join(lines[:3]))
    report = run(home)
    assert report["agents"]["main"]["transcripts"]["truncated"] == 1
    assert count_events() == 5
    assert [turn.is_active for turn in ConversationTurn.objects.using(MAIN).order_by("turn_number")] == [True, True]


def test_a_rewound_branch_is_flagged_and_keeps_its_turn_numbers(home):
    script = home.transcript(user("One"), assistant("1"), user("Two"), assistant("2"))
    run(home)
    script.add(user("Two again") | {"parentId": "r2"}, assistant("better"))
    run(home)
    turns = ConversationTurn.objects.using(MAIN).order_by("turn_number")
    rows = list(turns.values_list("turn_number", "user_message_content", "is_active"))
    assert rows == [(1, "One", True), (2, "Two", False), (3, "Two again", True)]
    assert count_events() - TranscriptEvent.objects.using(MAIN).filter(is_active=True).count() == 2
    assert Session.objects.using(MAIN).get().turn_count == 2


def test_turns_of_a_branch_that_was_left_count_neither_in_sums_nor_by_day(home):
    script = home.transcript(user("One"), assistant("1"), user("Two"), assistant("2"), user("Three"), assistant("3"))
    run(home)
    script.add(user("Two again") | {"parentId": "r2", "timestamp": "2026-02-23T03:00:00.000Z"}, assistant("better"))
    run(home)
    days = dict(AgentDailyStat.objects.values_list("date", "turn_count"))
    assert days == {"2026-02-21": 1, "2026-02-23": 1}
    assert AgentSummary.objects.get().turn_count == sum(days.values())
    script.add(user("Three after all") | {"parentId": "r6"})
    run(home)
    days = dict(AgentDailyStat.objects.values_list("date", "turn_count"))
    assert days == {"2026-02-21": 4, "2026-02-23": 0}
    assert AgentSummary.objects.get().turn_count == 4


DAMAGE = {
    "not_json": b"ERROR: disk full",
    "truncated": b'{"type":"message","id":"x',
    "not_utf8": b'{"type":"message","id":"\xff\xfe"}',
    "nul_bytes": b"\x00" * 40,
    "glued": b'{"type":"custom"}{"type":"custom"}',
    "not_an_object": b"[1, 2]",
    "missing_type": b'{"id":"x"}',
    "absurd_number": b'{"type":"custom","data":{"n":1e999}}',
    "too_deep": b'{"type":"custom","data":' + b"[" * 300 + b"]" * 300 + b"}",
}


@pytest.mark.parametrize("reason", DAMAGE)
def test_a_damaged_line_is_kept_with_its_place_and_stops_nothing(home, reason):
    script = home.transcript(user("One"))
    offset = script.path.stat().st_size
    script.raw(DAMAGE[reason] + b"\n").add(assistant("1"))
    report = run(home)
    assert report["agents"]["main"]["rejected"] == {reason: 1}
    row = RejectedRecord.objects.using(MAIN).get()
    assert (row.reason, row.byte_offset, row.file) == (reason, offset, f"agents/main/sessions/{script.path.name}")
    assert ConversationTurn.objects.using(MAIN).get().agent_message_content == "1"
    assert AgentSummary.objects.get().rejected_count == 1
    run(home)
    assert RejectedRecord.objects.using(MAIN).count() == 1


def test_a_lost_line_does_not_cut_the_session_in_two(home):
    script = home.transcript(user("One"), assistant("1"))
    script.count += 1
    script.last = "r3"
    script.raw(b"not a record\n").add(user("Three"), assistant("3"))
    run(home)
    assert Session.objects.using(MAIN).get().turn_count == 2


def test_an_unknown_type_is_kept_raw(home):
    home.transcript(user("One"), {"type": "future_thing", "x": {"y": [1]}})
    run(home)
    event = TranscriptEvent.objects.using(MAIN).get(kind="unknown")
    assert json.loads(event.event_json)["x"] == {"y": [1]}


def test_both_dialects_come_to_the_same(home):
    call = {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": "ls"}}
    spelled = {"role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}, call]}
    spelled |= {"model": "claude", "usage": {"inputTokens": 5000, "outputTokens": 200}}
    home.transcript(user("One"), {"type": "message", "message": spelled})
    run(home)
    event = TranscriptEvent.objects.using(MAIN).get(kind="assistant")
    assert (event.input_tokens, event.output_tokens, event.total_tokens, event.tool_call_count) == (5000, 200, 5200, 1)


def test_synthetic_assistants_are_in_no_sum(home):
    home.transcript(user("One"), assistant("1"), assistant("1", model="delivery-mirror"))
    run(home)
    session = Session.objects.using(MAIN).get()
    assert (session.total_tokens, session.record_count) == (115, 4)
    turn = ConversationTurn.objects.using(MAIN).get()
    assert turn.agent_message_id == "r2"
    assert TranscriptEvent.objects.using(MAIN).filter(is_synthetic=True).count() == 1


DETAILS = ({"status": "error"}, {"status": "failed"}, {"exitCode": 2})


@pytest.mark.parametrize("more", [{"isError": True}, *({"details": details} for details in DETAILS)])
def test_every_way_to_fail_counts(home, more):
    home.transcript(user("One"), assistant("", ("c1", "exec", {})), result("c1", **more))
    run(home)
    assert Session.objects.using(MAIN).get().error_count == 1


def test_long_texts_are_capped_and_kept_whole_and_a_repeated_output_is_dropped(home):
    configuration.put("collector.stashOutputs", False)
    text = "0123456789" * 5000
    home.transcript(user("One"), assistant("", ("c1", "exec", {})), result("c1", text, details={"aggregated": text}))
    run(home)
    event = TranscriptEvent.objects.using(MAIN).get(kind="tool_result")
    assert len(event.event_json) < 2000
    assert json.loads(event.trim_json) == {"aggregated": 50000, "capped": [["message.content.0.text", 50000, 1000]]}
    from ledger.transcripts.trimming import full_record

    assert full_record(event)["message"]["content"][0]["text"] == text
    assert "aggregated" not in full_record(event)["message"]["details"]


def test_compactions_become_snapshots_with_their_files(home):
    summary = "## Goal\nfix\n<read-files>\n- AGENTS.md\n</read-files>\n\n<modified-files>\nMEMORY.md\n</modified-files>"
    home.transcript(user("One"), assistant("1"), {"type": "compaction", "summary": summary, "tokensBefore": 52179})
    run(home)
    snapshot = TranscriptSnapshot.objects.using(MAIN).get()
    about = json.loads(snapshot.metadata_json)
    assert (about["readFiles"], about["modifiedFiles"], about["tokensBefore"]) == (["AGENTS.md"], ["MEMORY.md"], 52179)
    assert snapshot.event_count == 2


def test_an_index_of_many_sessions_is_stored_in_a_few_statements(home):
    entries = {f"agent:main:irc:direct:{n}": {"sessionId": f"s{n}", "updatedAt": AT, "label": ""} for n in range(900)}
    home.index(entries)
    run(home)
    sessions = Session.objects.using(MAIN)
    assert sessions.filter(origin="direct", channel_id="irc", last_activity_at=AT).count() == 900
    for key in list(entries)[:500]:
        entries[key] |= {"label": "Named", "updatedAt": AT + 1}
    home.index(entries)
    with CaptureQueriesContext(connections[MAIN]) as captured:
        run(home)
    assert sessions.filter(title="Named", last_activity_at=AT + 1).count() == 500
    assert sum("UPDATE" in query["sql"] and "sessions" in query["sql"] for query in captured) == 1
