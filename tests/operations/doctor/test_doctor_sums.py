"""Sums that differ from their records: found, named and computed again by the doctor.

The doctor runs as a real process.
"""

import random
import shutil

import pytest

from tests.homes import Home, assistant, result, user
from tests.operations.doctor.doctor_homes import change, doctor, fill, rows

DERIVED = {
    "sessions": "id",
    "session_days": "session_id || date",
    "conversation_turns": "id",
    "session_tools": "session_id || date || tool",
    "tool_days": "date || tool",
}
GLOBAL = {
    "agent_summaries": "agent_id",
    "agent_daily_stats": "agent_id || date",
    "agent_hours": "agent_id || span",
    "site_spans": "span",
    "newest_sessions": "agent_id || session_id",
    "error_groups": "id",
    "error_sums": "agent_id || group_id",
    "error_days": "agent_id || group_id || date",
}
NUMBERS = {
    "sessions": ("record_count", "turn_count", "total_tokens", "cost_usd", "error_count", "created_at"),
    "session_days": ("turn_count", "record_count", "tool_call_count", "cost_usd", "output_tokens"),
    "conversation_turns": ("record_count", "total_tokens", "last_seq", "latency_ms", "prompt_tokens"),
    "session_tools": ("call_count", "chars", "carried_chars", "prompt_tokens"),
    "tool_days": ("chars", "result_count"),
    "agent_summaries": ("turn_count", "total_tokens", "cost_usd", "rejected_count", "last_activity_at"),
    "agent_daily_stats": ("turn_count", "session_count", "cost_usd", "input_tokens", "removed_turn_count"),
    "agent_hours": ("turn_count", "cost_usd"),
    "site_spans": ("turn_count", "error_count"),
    "newest_sessions": ("error_count", "words", "title"),
    "error_groups": ("count", "session_count", "agent_count", "last_at"),
    "error_sums": ("count", "session_count", "last_at"),
    "error_days": ("count",),
}
TIMES = {"last_collected_at", "opened_at", "is_new"}


@pytest.fixture
def home(tmp_path):
    """Our home, with everything imported from OpenClaw's folder beside it."""
    source = Home(tmp_path / "home-source", agents=("main", "research"))
    fill(source, sessions=6)
    for agent in source.agents:
        failed = result("c1", "Error: not found", isError=True)
        source.transcript(user("Look"), assistant("", ("c1", "exec", {})), failed, assistant("No."), agent=agent)
    doctor(tmp_path / "home", "--fix", status=0)
    return tmp_path / "home"


def read_derived(home):
    """Return every row of every derived table, costs rounded to a billionth."""
    rows_by_table = {}
    for agent in ("main", "research"):
        for table, key in DERIVED.items():
            rows_by_table[agent, table] = rows(home, f"SELECT * FROM {table} ORDER BY {key}", agent)
    for table, key in GLOBAL.items():
        names = [name for (name,) in rows(home, f"SELECT name FROM pragma_table_info('{table}')")]
        columns = ", ".join(name for name in names if name not in TIMES)
        rows_by_table[table] = rows(home, f"SELECT {columns} FROM {table} ORDER BY {key}")
    return {
        name: [tuple(round(value, 9) if isinstance(value, float) else value for value in row) for row in each]
        for name, each in rows_by_table.items()
    }


def select_sentences(looked):
    return {(finding["check"], finding["agent"]): finding["sentence"] for finding in looked["store"]}


def test_sums_that_were_changed_are_named_and_made_again_from_records(home):
    before = read_derived(home)
    (session_id,) = rows(home, "SELECT id FROM sessions ORDER BY id LIMIT 1", "main")[0]
    change(home, f"UPDATE sessions SET turn_count = turn_count + 62 WHERE id = '{session_id}'", "main")
    change(home, f"UPDATE session_days SET total_tokens = 1 WHERE session_id = '{session_id}'", "main")
    change(home, "UPDATE newest_sessions SET words = 'Said once.' WHERE agent_id = 'main'")
    change(home, "INSERT INTO newest_writes VALUES ('main', 'w1', 1, 'MEMORY.md', 'mei', '[]')")
    looked, _status = doctor(home, status=1)
    assert "newest_sessions" in select_sentences(looked)["sums", "main"]
    assert "Not checked: totals, turns" in looked["message"] and looked["rows"] == []
    looked, _status = doctor(home, "--deep", status=1)
    named = {(row["table"], row["session_id"], *row["columns"]) for row in looked["rows"]}
    assert named == {("sessions", session_id, "turn_count"), ("session_days", session_id, "total_tokens")}
    assert looked["row_count"] == len(looked["rows"]) and {row["problem"] for row in looked["rows"]} == {"different"}
    sentence = select_sentences(looked)["session_sums", "main"]
    assert f"sessions {session_id} (turn_count)" in sentence and "(total_tokens)" in sentence
    fixed, _status = doctor(home, "--fix", "--deep", status=0)
    assert fixed["run"]["read_again"]["sessions"] == 1 and fixed["run"]["rows"] == []
    assert read_derived(home) == before and rows(home, "SELECT * FROM newest_writes") == []
    doctor(home, "--deep", status=0)


@pytest.mark.parametrize("seed", [1, 3])
def test_whatever_was_changed_or_lost_is_as_after_a_fresh_collect(home, tmp_path, seed):
    chance = random.Random(seed)
    for table in (*DERIVED, *GLOBAL):
        agents = ("main", "research") if table in DERIVED else (None,)
        for agent in agents:
            damage(home, table, agent, chance)
    looked, _status = doctor(home, "--deep", status=1)
    assert {"session_sums", "tool_sums", "sums", "site_sums"} <= {check for check, _agent in select_sentences(looked)}
    doctor(home, "--deep", "--fix", status=0)
    shutil.copytree(tmp_path / "home-source", tmp_path / "fresh-source", copy_function=shutil.copy2)
    doctor(tmp_path / "fresh", "--fix", status=0)
    assert read_derived(home) == read_derived(tmp_path / "fresh")
    doctor(home, "--deep", status=0)


def test_rows_that_name_what_is_gone(home):
    change(home, "UPDATE collector_sources SET agent_id = 'ghost' WHERE source_key = "
                 "(SELECT min(source_key) FROM collector_sources WHERE agent_id = 'main')")  # fmt: skip
    change(home, "DELETE FROM sessions WHERE id = (SELECT min(id) FROM sessions)", "main")
    sentences = select_sentences(doctor(home, "--deep", status=1)[0])
    assert sentences["orphan", ""].startswith("1 row of this site names an agent that is missing: ")
    assert sentences["orphan", ""].endswith(" (ghost).")
    assert " rows of agent main name a row that is missing: " in sentences["references", "main"]


def damage(home, table, agent, chance):
    """Change a number in every row, and delete some rows.

    Rows of sessions are not deleted: they hold facts that only the source knows.
    """
    for (rowid,) in rows(home, f"SELECT rowid FROM {table}", agent):
        column = chance.choice(NUMBERS[table])
        change(home, f"UPDATE {table} SET {column} = {chance.randrange(10**6, 10**7)} WHERE rowid = {rowid}", agent)
        if table != "sessions" and chance.random() < 0.3:
            change(home, f"DELETE FROM {table} WHERE rowid = {rowid}", agent)


def test_sums_of_removed_sessions_are_left_alone_and_said_so(home):
    change(home, "INSERT INTO removed_sessions SELECT id, 1, 'retention', last_activity_at, record_count, '' "
                 "FROM sessions ORDER BY id LIMIT 1", "main")  # fmt: skip
    ((gone,),) = rows(home, "SELECT session_id FROM removed_sessions", "main")
    for table in ("transcript_events", "conversation_turns", "transcript_snapshots"):
        change(home, f"DELETE FROM {table} WHERE session_id = '{gone}'", "main")
    change(home, f"DELETE FROM sessions WHERE id = '{gone}'", "main")
    days = f"SELECT date, turn_count FROM session_days WHERE session_id = '{gone}'"
    turn_counts = rows(home, days, "main")
    change(home, "UPDATE session_days SET turn_count = turn_count + 5", "main")
    doctor(home, "--fix", "--deep")
    assert turn_counts and rows(home, days, "main") == [(date, count + 5) for date, count in turn_counts]
    looked, _status = doctor(home, "--deep", status=0)
    assert "daily totals of 1 session of agent main" in select_sentences(looked)["sums_unchecked", "main"]
