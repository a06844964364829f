"""Any change of any column of any event is found, and the event is named."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents import databases, services
from episodes import redaction, retention
from episodes.append import append
from episodes.chain import heads, verification
from episodes.events import Limits, build_event
from episodes.models import EpisodeGap, EpisodicEvent
from episodes.redaction import Redaction
from openclaw_web.clock import DAY_MS

pytestmark = pytest.mark.django_db
NOW = 1_750_000_000_000
ALLOWED = Limits(allows_tool_output=True)
TYPES = ("conversation.user", "tool.call", "ops.decision", "ops.alert")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12).filter(
    str.strip
)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(TYPES),
            "scope": st.sampled_from(["alpha", "beta"]),
            "session_id": st.sampled_from(["s1", "s2"]),
            "summary": TEXTS,
            "payload": st.none() | st.dictionaries(st.sampled_from("ab"), TEXTS, max_size=2),
            "refs": st.none() | st.lists(st.integers(-9, 9), max_size=2),
            "ts_ms": st.integers(NOW - 200 * DAY_MS, NOW),
        }
    ),
    min_size=3,
    max_size=12,
)
STEPS = st.lists(st.sampled_from(["redact s1", "redact s2", "gc alpha", "gc beta", "head", "append"]), max_size=5)
COLUMNS = [field.column for field in EpisodicEvent._meta.concrete_fields]
GAP_COLUMNS = [field.column for field in EpisodeGap._meta.concrete_fields]


@pytest.fixture
def main(real_files):
    return services.register("main")


def build(number, values):
    return build_event(**values, agent_id="actor", event_id=f"e{number}", limits=ALLOWED)


def fill(agent, events, steps):
    """Fill an empty ledger: append all events, and take the steps in between."""
    db, chunk = agent.db, max(1, len(events) // (len(steps) + 1))
    for number, values in enumerate(events):
        append(db, [build(number, values)])
        if number % chunk == chunk - 1 and number // chunk < len(steps):
            take_step(agent, steps[number // chunk], number)


def take_step(agent, step, number):
    word, _blank, name = step.partition(" ")
    if word == "redact":
        replacement = "null" if number % 2 else "placeholder"
        for scope in ("alpha", "beta"):
            redaction.redact(agent, Redaction.parse(scope, session_id=name, replacement=replacement), by="otto")
    elif word == "gc":
        retention.run(agent, name, now_ms=NOW, by="otto")
    elif word == "head":
        heads.give_out(agent.db, "a test")


def edit(agent, *statements):
    """Run statements of a plain SQLite on the file, as somebody who first removes the triggers."""
    with closing(sqlite3.connect(databases.get_path(agent.agent_id), isolation_level=None)) as db:
        db.execute("BEGIN")
        rows = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'episodic_events'")
        triggers = rows.fetchall()
        for name, _sql in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for sql, *values in statements:
            db.execute(sql, values)
        for _name, sql in triggers:
            db.execute(sql)
        db.execute("COMMIT")


def clear(agent):
    """Make the ledger empty again, for the next example."""
    tables = ("episodic_events", "episode_gaps", "episode_heads", "episode_runs")
    edit(agent, *((f"DELETE FROM {table}",) for table in tables), ("DELETE FROM sqlite_sequence",))


def read(agent, sql, *values):
    with closing(sqlite3.connect(databases.get_path(agent.agent_id))) as db:
        db.text_factory = bytes
        return db.execute(sql, values).fetchall()


def change(value, place, flip):
    """Return a value with one byte changed, of the same type where there is a value."""
    if value is None:
        return b"\x01"
    if isinstance(value, int):
        return value ^ (1 << flip % 40)
    data = bytearray(value)
    if not data:
        return b"\x01"
    data[place % len(data)] ^= 1 + flip % 255
    return bytes(data)


def write_changed(agent, table, key, row_key, column, is_text, value):
    cast = "CAST(? AS TEXT)" if is_text else "?"
    edit(agent, (f"UPDATE {table} SET {column} = {cast} WHERE {key} = ?", value, row_key))


def get_names(result):
    return [name for name, _sentence in result.faults]


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), events=EVENTS, steps=STEPS)
def test_one_changed_byte_of_any_column_of_any_event_is_found_and_the_event_named(main, data, events, steps):
    clear(main)
    fill(main, events, steps)
    before = verification.verify(main.db)
    assert before.is_unchanged, before.faults
    row_id = data.draw(st.sampled_from([row_id for (row_id,) in read(main, "SELECT id FROM episodic_events")]))
    column = data.draw(st.sampled_from(COLUMNS))
    place, flip = data.draw(st.integers(0, 200)), data.draw(st.integers(0, 254))
    ((value, kind),) = read(main, f"SELECT {column}, typeof({column}) FROM episodic_events WHERE id = ?", row_id)
    changed = change(value, place, flip)
    try:
        write_changed(main, "episodic_events", "id", row_id, column, kind == b"text", changed)
    except sqlite3.IntegrityError:  # the id of another event
        return
    named = changed if column == "id" else row_id
    ((name,),) = read(main, "SELECT event_id FROM episodic_events WHERE id = ?", named)
    result = verification.verify(main.db)
    assert not result.is_unchanged
    expected_name = name.decode("utf-8", "surrogateescape").encode("utf-8", "backslashreplace").decode()
    assert expected_name in get_names(result), (column, value, changed, result.faults)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), events=EVENTS)
def test_one_changed_byte_of_any_column_of_any_gap_is_found(main, data, events):
    clear(main)
    expired = [values | {"type": "tool.call", "ts_ms": NOW - 100 * DAY_MS} for values in events[:2]]
    fill(main, [*expired, *events], [])
    retention.run(main, expired[0]["scope"], now_ms=NOW, by="otto")
    assert verification.verify(main.db).is_unchanged
    gap = data.draw(st.sampled_from([first for (first,) in read(main, "SELECT first_id FROM episode_gaps")]))
    column = data.draw(st.sampled_from(GAP_COLUMNS))
    ((value,),) = read(main, f"SELECT {column} FROM episode_gaps WHERE first_id = ?", gap)
    changed = change(value, data.draw(st.integers(0, 200)), data.draw(st.integers(0, 254)))
    try:
        write_changed(main, "episode_gaps", "first_id", gap, column, False, changed)
    except sqlite3.IntegrityError:  # the number of another gap
        return
    assert not verification.verify(main.db).is_unchanged


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), events=EVENTS, steps=STEPS)
def test_a_removed_swapped_or_inserted_row_is_found(main, data, events, steps):
    clear(main)
    fill(main, events, steps)
    head = heads.read_head(main.db)
    ids = sorted(row_id for (row_id,) in read(main, "SELECT id FROM episodic_events"))
    way = data.draw(st.sampled_from(["remove", "swap", "insert"]))
    chosen = data.draw(st.sampled_from(ids))
    if way == "remove":
        edit(main, ("DELETE FROM episodic_events WHERE id = ?", chosen))
    elif way == "swap":
        other = data.draw(st.sampled_from(ids))
        if other == chosen:
            return
        numbers = [(9_999, chosen), (chosen, other), (other, 9_999)]
        edit(main, *(("UPDATE episodic_events SET id = ? WHERE id = ?", *pair) for pair in numbers))
    else:
        names = ", ".join(column for column in COLUMNS if column not in ("id", "event_id"))
        columns = f"INSERT INTO episodic_events (id, event_id, {names}) SELECT 10000, 'inserted', {names}"
        edit(main, (f"{columns} FROM episodic_events WHERE id = ?", chosen))
    result = verification.verify(main.db, [("kept", head)])
    assert not result.is_unchanged
    if way != "remove" or chosen != ids[-1]:  # the end of a ledger is missed by the head alone
        assert result.fault_count
    else:
        assert [entry["unchanged"] for entry in result.heads] == [False]
