"""A call costs once, however many sessions repeat it.

The order in which they came does not matter.
"""

import json
from contextlib import closing

import pytest
from django.db import IntegrityError, connections
from hypothesis import given
from hypothesis import strategies as st

from ledger.collectors.jsonl import Line, parse_line
from ledger.models import ConversationTurn, Session, TranscriptEvent
from ledger.rebuild import repeats, sums
from ledger.transcripts import removal
from ledger.transcripts.transcript_store import Transcript, store_transcript
from tests.factories import T0
from tests.homes import assistant, result, user

from .table_rows import DB, find_wrong_sessions, read_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]
TABLES = ("session_days", "session_tools", "conversation_turns", "tool_days", "transcript_events", "sessions")
SUMS = ("tool_call_count", "error_count", "input_tokens", "total_tokens", "unpriced_tokens", "turn_count")
PRICED = {"cost": {"total": 0.01}, "input": 100, "output": 10, "totalTokens": 110}
UNPRICED = {"input": 7, "output": 3, "totalTokens": 10}


def clear():
    with closing(connections[DB].cursor()) as cursor:
        for table in (*TABLES[:-1], "transcript_snapshots", "sessions"):
            cursor.execute(f"DELETE FROM {table}")


def header(session_id, parent=None, at=T0):
    record = {"type": "session", "id": session_id, "timestamp": at}
    return record | ({"parentSession": f"/h/agents/ada/sessions/{parent}.jsonl"} if parent else {})


def make_turns(name, start, count, usage=PRICED):
    """Return the records of `count` turns: a question, a call, its output, a reply.

    The records have ids of their own. `start` is the second of the first one.
    """
    records, before = [], None
    for number in range(count):
        call = f"{name}-c{number}"
        steps = [user(f"{name} asks {number}"), assistant("", (call, "exec", {}))]
        steps += [result(call, f"output of {name}"), assistant(f"{name} replies {number}")]
        for place, record in enumerate(steps):
            if record["message"]["role"] == "assistant":
                record["message"]["usage"] = usage
            at = T0 + (start + number * 4 + place) * 1000
            before, parent = f"{name}-{number}-{place}", before
            records.append({"id": before, "parentId": parent, "timestamp": at, **record})
    return records


def store_part(session_id, records, *, since=0, until=None, opted_out=()):
    """Store a transcript, or the part of it that was not there before."""
    lines = [parse_line(Line(at * 10, at * 10 + 10, json.dumps(record).encode())) for at, record in enumerate(records)]
    transcript = Transcript(session_id, f"{session_id}.jsonl", T0, opted_out=frozenset(opted_out), goes_on=since > 0)
    store_transcript(DB, transcript, iter(lines[since:until]))


def sum_sessions():
    """Sum up all sessions."""
    sessions = read_rows("sessions")
    costs = [row["cost_usd"] for row in sessions if row["cost_usd"] is not None]
    amounts = {name: sum(row[name] for row in sessions) for name in SUMS}
    return amounts | {"cost_usd": round(sum(costs), 9) if costs else None}


def sum_distinct_records(transcripts):
    """Sum up the distinct records of transcripts, without the ledger."""
    records = {}
    for lines in transcripts.values():
        records |= {(record["id"], record["timestamp"]): record for record in lines if record["type"] == "message"}
    usages = [record["message"].get("usage") for record in records.values()]
    usages = [usage for usage in usages if usage]
    costs = [usage["cost"]["total"] for usage in usages if "cost" in usage]
    return {
        "tool_call_count": sum(record["message"].get("stopReason") == "toolUse" for record in records.values()),
        "error_count": 0,
        "input_tokens": sum(usage["input"] for usage in usages),
        "total_tokens": sum(usage["totalTokens"] for usage in usages),
        "unpriced_tokens": sum(usage["totalTokens"] for usage in usages if "cost" not in usage),
        "turn_count": sum(record["message"]["role"] == "user" for record in records.values()),
        "cost_usd": round(sum(costs), 9) if costs else None,
    }


def read_marks():
    events = TranscriptEvent.objects.using(DB).filter(repeat_of__isnull=False)
    return {
        (session_id, seq): source for session_id, seq, source in events.values_list("session_id", "seq", "repeat_of")
    }


@st.composite
def families(draw):
    """Transcripts of a family: each repeats the beginning of its parent.

    The parent may be anywhere in the order, or missing.
    """
    names = [f"s{number}" for number in range(draw(st.integers(2, 5)))]
    transcripts = {}
    for place, name in enumerate(names):
        parent = draw(st.sampled_from([*names, "gone", None])) if place else draw(st.sampled_from([names[-1], None]))
        copied = transcripts.get(parent, [])[1:]
        copied = copied[: draw(st.integers(0, len(copied)))]
        own = make_turns(name, (place + 1) * 100, draw(st.integers(0, 2)), draw(st.sampled_from([PRICED, UNPRICED])))
        transcripts[name] = [header(name, parent, T0 + place), *copied, *own]
    return transcripts


@given(family=families(), order=st.randoms(use_true_random=False))
def test_sums_are_those_of_distinct_records_in_whatever_order_they_came(family, order):
    clear()
    for name in sorted(family):
        store_part(name, family[name])
    repeats.mark_repeats(DB)
    assert sum_sessions() == sum_distinct_records(family)
    expected, days, tools = read_marks(), read_rows("session_days"), read_rows("session_tools")
    clear()
    parts = []
    for name in family:
        middle = order.randint(0, len(family[name]))
        parts += [(name, 0, middle), (name, middle, None)]
    order.shuffle(parts)
    parts.sort(key=lambda part: part[1] > 0 and part[2] is None and order.random() < 0.5)
    done = dict.fromkeys(family, 0)
    for name, _since, until in parts:
        end = len(family[name]) if until is None else until
        if end > done[name]:
            store_part(name, family[name], since=done[name], until=end)
            done[name] = end
        if order.random() < 0.5:
            repeats.mark_repeats(DB)
    repeats.mark_repeats(DB)
    assert sum_sessions() == sum_distinct_records(family)
    assert (read_marks(), read_rows("session_days"), read_rows("session_tools")) == (expected, days, tools)
    assert find_wrong_sessions() == set()
    assert repeats.mark_repeats(DB) == []
    assert repeats.mark_repeats(DB, is_forced=True) == []
    before = {table: read_rows(table) for table in TABLES}
    for name in family:
        sums.rebuild_session(DB, name)
    assert {table: read_rows(table) for table in TABLES} == before


def family_of_two(**more):
    """Store a channel, and a thread that repeats its two turns and adds one."""
    channel = make_turns("channel", 0, 2)
    store_part("channel", [header("channel"), *channel])
    store_part("thread", [header("thread", "channel", T0 + 1), *channel, *make_turns("thread", 100, 1)], **more)
    return channel


def read_cost(session_id):
    amount = Session.objects.using(DB).get(id=session_id).cost_usd
    return None if amount is None else round(amount, 9)


def test_repeated_turns_are_marked_and_count_nothing():
    family_of_two()
    assert read_cost("thread") == 0.06
    assert repeats.mark_repeats(DB) == ["thread"]
    assert (read_cost("channel"), read_cost("thread")) == (0.04, 0.02)
    turns = ConversationTurn.objects.using(DB).filter(session_id="thread").order_by("turn_number")
    assert list(turns.values_list("repeat_of", "cost_usd", "tool_call_count")) == [
        ("channel", None, 0),
        ("channel", None, 0),
        (None, 0.02, 1),
    ]
    thread = Session.objects.using(DB).get(id="thread")
    assert (thread.turn_count, thread.record_count, thread.tool_call_count) == (1, 13, 1)


def test_a_record_that_only_has_the_id_of_another_is_its_own():
    channel = make_turns("channel", 0, 1)
    other = [dict(record) for record in channel]
    other[3] = {**channel[3], "message": {**channel[3]["message"], "content": [{"type": "text", "text": "No."}]}}
    later = [{**record, "timestamp": record["timestamp"] + 1} for record in channel]
    store_part("channel", [header("channel"), *channel])
    store_part("other", [header("other", "channel", T0 + 1), *other])
    store_part("later", [header("later", "channel", T0 + 2), *later])
    repeats.mark_repeats(DB)
    assert (read_cost("channel"), read_cost("other"), read_cost("later")) == (0.02, 0.01, 0.02)
    turn = ConversationTurn.objects.using(DB).get(session_id="other")
    assert turn.repeat_of is None  # its question is a copy, its answer is not
    assert Session.objects.using(DB).get(id="other").turn_count == 0


def test_a_session_that_names_no_parent_is_not_looked_up():
    channel = make_turns("channel", 0, 1)
    store_part("channel", [header("channel"), *channel])
    store_part("alike", [header("alike", None, T0 + 1), *channel])
    assert repeats.mark_repeats(DB) == []
    assert read_cost("alike") == 0.02


def test_children_of_a_parent_that_is_not_here_share_its_calls():
    channel = make_turns("channel", 0, 2)
    store_part("second", [header("second", "channel", T0 + 2), *channel])
    store_part("first", [header("first", "channel", T0 + 1), *channel[:4]])
    repeats.mark_repeats(DB)
    assert (read_cost("first"), read_cost("second")) == (0.02, 0.02)
    store_part("channel", [header("channel"), *channel])
    assert repeats.mark_repeats(DB) == ["first", "second"]
    assert (read_cost("channel"), read_cost("first"), read_cost("second")) == (0.04, None, None)


def test_what_a_removed_parent_had_stays_counted_there():
    family_of_two()
    repeats.mark_repeats(DB)
    removal.remove_session(DB, "channel", before=2**53, needed_by=lambda session_id: "", why="retention")
    assert repeats.mark_repeats(DB) == []
    assert repeats.mark_repeats(DB, is_forced=True) == []
    assert read_cost("thread") == 0.02
    assert round(sum(row["cost_usd"] for row in read_rows("session_days")), 9) == 0.06


def test_what_a_parent_had_that_was_taken_out_counts_in_its_child():
    family_of_two()
    repeats.mark_repeats(DB)
    removal.delete_session(DB, "channel")
    assert repeats.mark_repeats(DB) == ["thread"]
    assert read_cost("thread") == 0.06
    assert not read_marks()
    assert round(sum(row["cost_usd"] for row in read_rows("session_days")), 9) == 0.06


def test_marks_that_cannot_be_written_leave_everything_as_it_was():
    family_of_two()
    before = {table: read_rows(table) for table in TABLES}
    with closing(connections[DB].cursor()) as cursor:  # the disk is full once the marks are written
        cursor.execute("CREATE TRIGGER full BEFORE INSERT ON session_days BEGIN SELECT RAISE(ABORT, 'full'); END")
        with pytest.raises(IntegrityError):
            repeats.mark_repeats(DB)
        cursor.execute("DROP TRIGGER full")
    assert {table: read_rows(table) for table in TABLES} == before
    repeats.mark_repeats(DB)
    assert read_cost("thread") == 0.02


def test_a_damaged_mark_is_found_and_made_right():
    family_of_two()
    repeats.mark_repeats(DB)
    before = {table: read_rows(table) for table in TABLES}
    TranscriptEvent.objects.using(DB).filter(session_id="thread", seq=2).update(repeat_of="nowhere")
    TranscriptEvent.objects.using(DB).filter(session_id="thread", seq=4).update(repeat_of=None)
    assert find_wrong_sessions() == {"thread"}
    repeats.mark_repeats(DB, is_forced=True)
    assert {table: read_rows(table) for table in TABLES} == before
    assert find_wrong_sessions() == set()
