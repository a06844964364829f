"""A reflection.db as the requirements describe it, and damaged or different ones."""

import hashlib
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.collectors.reflection_db import TABLES, DatabaseDecision, read
from gate.collectors.source_decisions import Rejection, SourceDecision, SourceMessage
from gate.models import MemoryGateDecision
from ledger.collectors.database import Database
from openclaw_web.sqlite.fields import get_reported_fields

GENERATOR = Path(__file__).resolve().parents[4] / "shared" / "tools" / "gen_corpus.py"
AT = 1_795_230_815_515
KEY = "channel:irc:#lab"
DDL = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, channel_id TEXT, metadata TEXT);
CREATE TABLE conversation_turns (
    id TEXT PRIMARY KEY, session_id TEXT, turn_number INTEGER, user_message_id TEXT, user_message_content TEXT,
    user_from TEXT, agent_message_id TEXT, agent_message_content TEXT, created_at INTEGER
);
CREATE TABLE conversation_contexts (
    id INTEGER PRIMARY KEY, turn_id TEXT, role TEXT, message TEXT, timestamp INTEGER, sequence_number INTEGER
);
CREATE TABLE memory_gate_decisions (
    id TEXT, turn_id TEXT, session_id TEXT, decision TEXT, reason TEXT, candidate_fact TEXT, llm_model TEXT,
    llm_latency_ms INTEGER, prompt_tokens INTEGER, completion_tokens INTEGER, raw_response TEXT, created_at INTEGER
);
"""
DECISION = {
    "id": "01D",
    "turn_id": "01T",
    "session_id": KEY,
    "decision": "UPDATE_USER",
    "reason": "A preference.",
    "candidate_fact": "Likes tea.",
    "llm_model": "small",
    "llm_latency_ms": 812,
    "prompt_tokens": 900,
    "completion_tokens": 20,
    "raw_response": "{}",
    "created_at": AT,
}
TURN = ("01T", KEY, 3, "m-1", "I like tea", "irc:alice", "m-2", "Noted", AT - 10)


def insert(store, table, row):
    """Adds a row, with columns by name or with all of them."""
    names = f"({', '.join(row)})" if isinstance(row, dict) else ""
    values = list(row.values()) if isinstance(row, dict) else list(row)
    store.execute(f"INSERT INTO {table} {names} VALUES ({', '.join('?' * len(values))})", values)


@pytest.fixture
def store():
    with closing(sqlite3.connect(":memory:")) as store:
        store.executescript(DDL)
        insert(store, "sessions", (KEY, "irc", json.dumps({"sessionKey": "agent:main:irc:#lab"})))
        insert(store, "conversation_turns", TURN)
        for place, role, text in [(2, "agent", "Noted"), (0, "user", "Hello"), (1, "user", "I like tea")]:
            insert(store, "conversation_contexts", (None, "01T", role, text, AT - 20 + place, place))
        yield store


def test_it_works(store):
    insert(store, "memory_gate_decisions", DECISION)
    (decision,) = read(store)
    assert isinstance(decision, SourceDecision)
    assert (decision.id, decision.at, decision.decision, decision.reason) == ("01D", AT, "UPDATE_USER", "A preference.")
    assert (decision.fact, decision.has_fact, decision.failure) == ("Likes tea.", True, "")
    assert (decision.session_key, decision.session_id, decision.original_key) == (KEY, KEY, "agent:main:irc:#lab")
    assert (decision.model, decision.latency_ms, decision.reported["raw_response"]) == ("small", 812, "{}")
    assert (decision.reported["prompt_tokens"], decision.reported["completion_tokens"]) == (900, 20)
    assert (decision.turn_id, decision.turn_number, decision.user_message_id, decision.agent_message_id) == (
        "01T",
        3,
        "m-1",
        "m-2",
    )
    assert decision.reply == SourceMessage("agent", "Noted", AT - 10)
    assert (decision.user_message, decision.user_message.sender) == (
        SourceMessage("user", "I like tea", AT - 10),
        "irc:alice",
    )
    assert [(message.role, message.message) for message in decision.window] == [
        ("user", "Hello"),
        ("user", "I like tea"),
        ("agent", "Noted"),
    ]
    assert (decision.saw_user, decision.saw_reply, decision.expected, decision.workspace) == (True, True, None, None)


def test_a_database_that_is_open_already_can_be_read(store):
    insert(store, "memory_gate_decisions", DECISION)
    assert [decision.id for decision in read(Database(store, TABLES))] == ["01D"]


@pytest.mark.parametrize("table", ["sessions", "conversation_turns", "conversation_contexts"])
def test_any_table_beside_the_decisions_may_be_missing(store, table):
    insert(store, "memory_gate_decisions", DECISION)
    store.execute(f"DROP TABLE {table}")
    (decision,) = read(store)
    assert decision.fact == "Likes tea."
    assert (decision.original_key is None) == (table == "sessions")
    assert (decision.reply is None) == (table == "conversation_turns")
    assert (decision.window is None) == (table == "conversation_contexts")
    assert decision.saw_user is True


@pytest.mark.parametrize("column", sorted(DECISION.keys() - {"id", "decision", "created_at"}))
def test_any_column_that_says_more_of_a_decision_may_be_missing(store, column):
    insert(store, "memory_gate_decisions", DECISION)
    store.execute(f"ALTER TABLE memory_gate_decisions DROP COLUMN {column}")
    (decision,) = read(store)
    value = decision.reported[column] if column in decision.reported else getattr(decision, column)
    assert value == ("" if column == "reason" else None)


def test_every_reported_column_of_the_requirements_is_read(store):
    insert(store, "memory_gate_decisions", DECISION)
    (decision,) = read(store)
    reported = {field.attname for field in get_reported_fields(MemoryGateDecision)}
    assert decision.reported == {name: DECISION[name] for name in reported & DECISION.keys()}
    assert reported - DECISION.keys() == {"session_key", "saw_user", "prompt_version", "cost_usd"}  # known to this site


@pytest.mark.parametrize("column", ["id", "decision", "created_at"])
def test_without_what_makes_a_decision_there_is_none(store, column):
    insert(store, "memory_gate_decisions", DECISION)
    store.execute(f"ALTER TABLE memory_gate_decisions DROP COLUMN {column}")
    assert [problem.reason for problem in read(store)] == ["bad_database"]


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"id": None}, "no usable id"),
        ({"id": ""}, "no usable id"),
        ({"id": "x" * 300}, "no usable id"),
        ({"id": b"\xff"}, "id is not UTF-8"),
        ({"decision": "UPDATE_ALL"}, "01D: unknown decision UPDATE_ALL"),
        ({"decision": None}, "01D: unknown decision None"),
        ({"reason": None}, "01D: no reason"),
        ({"created_at": None}, "01D: no time"),
        ({"created_at": "later"}, "created_at is no time"),
        ({"created_at": -1}, "created_at is no time"),
        ({"candidate_fact": b"\xff\xfe"}, "candidate_fact is not UTF-8"),
        ({"llm_latency_ms": "fast"}, "llm_latency_ms is no count"),
        ({"llm_latency_ms": 1.5}, "llm_latency_ms is no count"),
        ({"prompt_tokens": -1}, "prompt_tokens is no count"),
        ({"completion_tokens": 2**60}, "completion_tokens is no count"),
        ({"completion_tokens": float("inf")}, "completion_tokens is no count"),
    ],
)
def test_a_row_that_cannot_be_used_says_why_and_the_others_are_read(store, change, detail):
    insert(store, "memory_gate_decisions", DECISION | change)
    insert(store, "memory_gate_decisions", DECISION | {"id": "01E"})
    bad, good = read(store)
    assert bad == Rejection("bad_decision", detail)
    assert good.id == "01E"


def test_numbers_where_texts_belong():
    with closing(sqlite3.connect(":memory:")) as store:
        store.execute("CREATE TABLE memory_gate_decisions (id, decision, created_at, reason)")
        insert(store, "memory_gate_decisions", (5, "NO_WRITE", AT, "x"))
        insert(store, "memory_gate_decisions", ("01D", "NO_WRITE", AT, 5))
        insert(store, "memory_gate_decisions", ("01E", "NO_WRITE", "2026-11-21T03:13:35.515Z", "LLM request failed: 5"))
        first, second, third = read(store)
        assert (first.detail, second.detail) == ("id is no text", "reason is no text")
        assert (third.at, third.failure, third.window, third.saw_user) == (AT, "llm_request_failed", None, None)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("conversation_contexts", (None, "01T", "system", "x", AT, 5)),
        ("conversation_contexts", (None, "01T", "user", None, AT, 5)),
        ("conversation_contexts", (None, "01T", "user", "x", "late", 5)),
        ("conversation_contexts", (None, "01T", "user", b"\xff", AT, 5)),
    ],
)
def test_a_window_that_cannot_be_read_does_not_cost_the_decision(store, table, row):
    insert(store, "memory_gate_decisions", DECISION)
    insert(store, table, row)
    bad, good = read(store)
    assert bad.reason == "bad_decision"
    assert bad.detail.startswith("01D: ")
    assert (good.window, good.reply.message) == (None, "Noted")


def test_a_turn_that_cannot_be_read_does_not_cost_the_decision(store):
    insert(store, "memory_gate_decisions", DECISION)
    store.execute("UPDATE conversation_turns SET turn_number = 'third'")
    bad, good = read(store)
    assert bad.detail == "01D: turn_number is no count"
    assert (good.reply, len(good.window)) == (None, 3)


def test_odd_metadata_is_no_key(store):
    insert(store, "memory_gate_decisions", DECISION)
    for metadata in ("nonsense", "[]", '{"sessionKey": 5}', b"\xff", 5, None):
        store.execute("UPDATE sessions SET metadata = ?", [metadata])
        store.commit()
        with closing(sqlite3.connect(":memory:")) as copy:
            store.backup(copy)
            (decision,) = read(copy)
            assert decision.original_key is None


@pytest.mark.parametrize(
    ("sql", "table_type"),
    [
        ("CREATE VIEW memory_gate_decisions AS SELECT 'x' AS id, 'NO_WRITE' AS decision, 5 AS created_at", "view"),
        ("CREATE VIRTUAL TABLE memory_gate_decisions USING fts5(id, decision, created_at)", "virtual table"),
    ],
)
def test_what_only_looks_like_the_table_is_not_read(sql, table_type):
    with closing(sqlite3.connect(":memory:")) as store:
        store.execute(sql)
        assert [*read(store)] == [
            Rejection("bad_database", f"memory_gate_decisions is a {table_type}, not a table"),
            Rejection("bad_database", "there is no table memory_gate_decisions"),
        ]


def test_a_view_beside_the_decisions_is_left_out(store):
    insert(store, "memory_gate_decisions", DECISION)
    store.execute("DROP TABLE conversation_contexts")
    store.execute("CREATE VIEW conversation_contexts AS SELECT '01T' AS turn_id, 'user' AS role, 'x' AS message")
    bad, good = read(store)
    assert bad == Rejection("bad_database", "conversation_contexts is a view, not a table")
    assert good.window is None


def test_no_other_table_can_be_read(store):
    store.execute("CREATE TABLE dataset_samples (id, content)")
    assert not [*read(store)]
    with pytest.raises(sqlite3.DatabaseError):
        store.execute("SELECT content FROM dataset_samples")


def test_a_file_that_is_damaged_or_no_database(tmp_path, store):
    for number in range(300):
        insert(store, "memory_gate_decisions", DECISION | {"id": f"{number}", "raw_response": "x" * 2_000})
    store.commit()
    with closing(sqlite3.connect(tmp_path / "whole.db")) as copy:
        store.backup(copy)
    data = bytearray((tmp_path / "whole.db").read_bytes())
    data[100_000:300_000] = b"\xff" * 200_000
    for content in (bytes(data), b"SQLite format 3\x00" + b"\xff" * 4_000, b"text"):
        (tmp_path / "damaged.db").write_bytes(content)
        with closing(sqlite3.connect(tmp_path / "damaged.db")) as damaged:
            assert [*read(damaged)][-1].reason == "damaged_database"


VALUES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5)
)
ROWS = st.lists(st.fixed_dictionaries({name: VALUES | st.just(value) for name, value in DECISION.items()}), max_size=8)


@given(ROWS, st.lists(st.tuples(VALUES, VALUES, VALUES, VALUES), max_size=4))
def test_no_row_stops_the_reader(rows, contexts):
    with closing(sqlite3.connect(":memory:")) as store:
        store.executescript(DDL.replace(" TEXT", "").replace(" INTEGER", ""))
        for row in rows:
            insert(store, "memory_gate_decisions", row)
        for role, message, at, place in contexts:
            insert(store, "conversation_contexts", (None, "01T", role, message, at, place))
        results = [*read(store)]
        assert all(isinstance(result, DatabaseDecision | Rejection) for result in results)
        assert len(rows) == 0 or results


@pytest.mark.skipif(not GENERATOR.exists(), reason="the generator of homes is not on this machine")
def test_a_generated_database(tmp_path):
    options = ["--sessions", "20", "--turns", "2", "--reflection-db"]
    subprocess.run([sys.executable, GENERATOR, "--out", tmp_path, *options], check=True, capture_output=True)
    file = tmp_path / "workspace" / ".openclaw-reflection" / "reflection.db"
    before = hashlib.sha256(file.read_bytes()).digest()
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as store:
        rows = store.execute("SELECT id, decision, candidate_fact FROM memory_gate_decisions").fetchall()
        decisions = [*read(store)]
    assert sorted((decision.id, decision.decision, decision.fact) for decision in decisions) == sorted(rows)
    assert len(rows) == json.loads((tmp_path / "ground_truth.json").read_text())["reflection"]["decisions"] > 50
    assert all(
        decision.original_key.startswith("agent:") and decision.session_key.startswith("channel:")
        for decision in decisions
    )
    assert all(
        [message.message for message in decision.window] == [decision.user_message.message, decision.reply.message]
        for decision in decisions
    )
    assert hashlib.sha256(file.read_bytes()).digest() == before
