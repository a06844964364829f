"""Everything derived of a session, made again from its records: the same as if it had been read a moment ago."""

import random
from contextlib import closing

import pytest
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st

from ledger import rebuilding
from ledger.models import Session
from tests.homes import assistant, result, user

from .transcripts import tell

pytestmark = pytest.mark.django_db
DB = "agent_ada"
LONG = "a line of a log\n" * 1_000
COSTS = {"cost_usd"}
# Columns of `sessions` that only the source knows.
TOLD = {"id", "channel_id", "conversation_target", "account_id", "metadata", "session_key", "origin", "source_state"}
TOLD |= {"prompt_report_id", "title", "last_activity_at"}
PLACES = {
    "sessions": {"id", *TOLD},
    "conversation_turns": {"id", "session_id"},
    "transcript_snapshots": {"session_id", "snapshot_id"},
    "session_days": {"session_id", "date"},
    "session_tools": {"session_id", "date", "tool"},
    "tool_days": {"date", "tool", "channel_id"},
}
EVERYTHING = (*PLACES, "transcript_events", "artifacts")


@pytest.fixture(autouse=True)
def store(settings, tmp_path, ada):
    """An artifact store of its own; ada is there."""
    settings.HOME_DIR = tmp_path


def rows(table):
    """Every row of a table, as a dict."""
    with closing(connections[DB].cursor()) as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def picture():
    """Every derived row, costs to a billionth of a dollar."""
    found = {table: rows(table) for table in EVERYTHING}
    for row in (row for each in found.values() for row in each):
        row.update({name: round(row[name], 9) for name in COSTS & row.keys() if row[name] is not None})
    return found


def change(sql, values=()):
    with closing(connections[DB].cursor()) as cursor:
        cursor.execute(sql, values)


def eventful():
    """A session with branches, a compaction, tools, an error, long texts and a record that nobody said."""
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


def tell_all():
    tell(*eventful(), session_id="s1")
    tell(user("hidden", __openclaw={"senderId": "eve"}), assistant("yes"), session_id="s2", opted_out={"eve"})
    tell(user("plain"), session_id="s3")


def test_nothing_changes_when_all_is_well():
    tell_all()
    before = picture()
    assert before["sessions"][0]["compaction_count"] == 1
    assert before["sessions"][0]["turn_count"] == 2
    for session_id in ("s1", "s2", "s3"):
        rebuilding.rebuild_session(DB, session_id)
    assert picture() == before


@given(seed=st.integers(min_value=0))
def test_what_was_changed_or_lost_is_made_again(seed):
    chance = random.Random(seed)
    Session.objects.using(DB).all().delete()
    for table in EVERYTHING:
        change(f"DELETE FROM {table}")
    tell_all()
    before = picture()
    for table, places in PLACES.items():
        damage(chance, table, places, before)
    change("UPDATE transcript_events SET is_active = ABS(RANDOM()) % 2, turn_number = ABS(RANDOM()) % 7")
    change("UPDATE artifacts SET turn_id = 'nowhere'")
    change("DELETE FROM tool_days")
    change("DELETE FROM session_tools")
    for session_id in ("s1", "s2", "s3"):
        rebuilding.rebuild_session(DB, session_id)
    assert picture() == before


def damage(chance, table, places, before):
    """Change some numbers and words of a table, and take some of its rows away."""
    for row in before[table]:
        known = {name: value for name, value in row.items() if name in places and name not in TOLD - {"id"}}
        where = " AND ".join(f"{name} = %s" for name in known)
        # Without an answer in the records, the index told of the model.
        names = row.keys() - places - ({"model"} if table == "sessions" and row["model"] is None else set())
        name = chance.choice(sorted(names))
        value = f"x{chance.randrange(9)}" if isinstance(row[name], str) else chance.randrange(10**6, 10**7)
        change(f"UPDATE {table} SET {name} = %s WHERE {where}", [value, *known.values()])
        if table != "sessions" and chance.random() < 0.3:
            change(f"DELETE FROM {table} WHERE {where}", list(known.values()))
