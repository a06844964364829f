"""Derived rows of a session, rebuilt from its records.

They are the same as if the session had been read a moment ago.
"""

import random
from contextlib import closing

import pytest
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st

from ledger.models import ConversationContext, ConversationTurn, Session
from ledger.rebuild import sums
from ledger.transcripts import removal
from ledger.transcripts.contexts import store_contexts
from tests.factories import T0
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

from .table_rows import DB, find_wrong_sessions, read_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]
LONG = "a line of a log\n" * 1_000
# Columns of `sessions` that only the source knows.
SOURCE_COLUMNS = {
    "id",
    "channel_id",
    "conversation_target",
    "account_id",
    "metadata",
    "session_key",
    "origin",
    "source_state",
}
SOURCE_COLUMNS |= {"prompt_report_id", "title", "last_activity_at", "parents", "repeats_mark", "leaf_ids"}
PLACES = {
    "sessions": {"id", *SOURCE_COLUMNS},
    "conversation_turns": {"id", "session_id"},
    "transcript_snapshots": {"session_id", "snapshot_id"},
    "session_days": {"session_id", "date"},
    "session_tools": {"session_id", "date", "tool"},
    "tool_days": {"date", "tool", "channel_id"},
}
EVERYTHING = (*PLACES, "transcript_events", "artifacts")


def read_all_rows():
    """Return every derived row, by table."""
    return {table: read_rows(table) for table in EVERYTHING}


def change(sql, values=()):
    with closing(connections[DB].cursor()) as cursor:
        cursor.execute(sql, values)


def eventful():
    """Yield the records of a session with branches, a compaction, tools and an error.

    Also long texts, and a record that nobody said.
    """
    yield user("the first question " * 900)
    yield assistant("", ("c1", "exec", {"n": 1}))
    yield result("c1", LONG, name="exec")
    yield assistant("one")
    yield {"type": "compaction", "summary": "all of it <read-files>\na.md\n</read-files>", "firstKeptEntryId": "r1"}
    yield user("second")
    yield assistant("mirrored", model="delivery-mirror")
    yield {**assistant("left"), "parentId": "r6"}
    yield {**user("second, in other words"), "parentId": "r5"}
    yield assistant("", ("c2", "read", {"n": 2}), model="other-model")
    yield result("c2", "No such file", name="read", isError=True)
    yield assistant("three " * 3_000)


def store_sessions():
    store_session(*eventful(), session_id="s1")
    store_session(user("hidden", __openclaw={"senderId": "eve"}), assistant("yes"), session_id="s2", opted_out={"eve"})
    store_session(user("plain"), session_id="s3")


def test_nothing_changes_when_all_is_well():
    store_sessions()
    before = read_all_rows()
    assert before["sessions"][0]["compaction_count"] == 1
    assert before["sessions"][0]["turn_count"] == 2
    assert find_wrong_sessions() == set()
    for session_id in ("s1", "s2", "s3"):
        sums.rebuild_session(DB, session_id)
    assert read_all_rows() == before


@given(seed=st.integers(min_value=0))
def test_what_was_changed_or_lost_is_made_again(seed):
    chance = random.Random(seed)
    Session.objects.using(DB).all().delete()
    for table in EVERYTHING:
        change(f"DELETE FROM {table}")
    store_sessions()
    before = read_all_rows()
    for table, places in PLACES.items():
        damage(chance, table, places, before)
    assert find_wrong_sessions() == {
        row["id"]
        for row in before["sessions"]
        if select_session(row["id"], read_all_rows()) != select_session(row["id"], before)
    }
    change("UPDATE transcript_events SET is_active = ABS(RANDOM()) % 2, turn_number = ABS(RANDOM()) % 7")
    change("UPDATE artifacts SET turn_id = 'nowhere'")
    change("DELETE FROM tool_days")
    change("DELETE FROM session_tools")
    for session_id in ("s1", "s2", "s3"):
        sums.rebuild_session(DB, session_id)
    sums.rebuild_tool_days(DB)
    assert read_all_rows() == before
    assert find_wrong_sessions() == set()
    assert [*sums.find_different_tool_days(DB)] == []


def test_what_evidence_refers_to_outlives_its_record():
    store_sessions()
    last = ConversationTurn.objects.using(DB).filter(session_id="s1").order_by("-turn_number").first()
    store_contexts(DB, [last], 6)
    message_count = ConversationContext.objects.using(DB).count()
    change("DELETE FROM transcript_events WHERE session_id = 's1' AND seq = %s", [last.first_seq])
    sums.rebuild_session(DB, "s1")
    assert ConversationContext.objects.using(DB).count() == message_count > 0
    assert not ConversationTurn.objects.using(DB).get(id=last.id).is_active
    assert find_wrong_sessions() == set()


def test_sums_of_a_removed_session_stay():
    store_sessions()
    with pytest.raises(removal.NotRemoved, match="new activity"):  # since it was chosen
        removal.remove_session(DB, "s1", before=T0, needed_by=lambda session_id: "", why="retention")
    removal.remove_session(DB, "s1", before=2**53, needed_by=lambda session_id: "", why="retention")
    stayed = select_session("s1", read_all_rows())
    assert stayed["session_days"]
    sums.rebuild_session(DB, "s1")
    assert select_session("s1", read_all_rows()) == stayed


def select_session(session_id, pictured):
    """Return the rows of a session in a picture."""
    return {
        table: [row for row in rows if session_id in (row.get("session_id"), row.get("id"))]
        for table, rows in pictured.items()
    }


def damage(chance, table, places, before):
    """Change some numbers and words of a table, and delete some of its rows."""
    for row in before[table]:
        known = {name: value for name, value in row.items() if name in places and name not in SOURCE_COLUMNS - {"id"}}
        where = " AND ".join(f"{name} = %s" for name in known)
        # Without an answer in the records, the model is from the index.
        names = row.keys() - places - ({"model"} if table == "sessions" and row["model"] is None else set())
        name = chance.choice(sorted(names))
        value = f"x{chance.randrange(9)}" if isinstance(row[name], str) else chance.randrange(10**6, 10**7)
        change(f"UPDATE {table} SET {name} = %s WHERE {where}", [value, *known.values()])
        if table != "sessions" and chance.random() < 0.3:
            change(f"DELETE FROM {table} WHERE {where}", list(known.values()))
