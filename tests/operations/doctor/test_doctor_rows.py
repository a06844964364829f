"""Rows of sessions that differ from what an import gives: `--deep` names each of them, and `--fix` mends exactly these.

The doctor runs as a real process.
"""

import os
import random
from pathlib import Path

import orjson
import pytest

from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import change, doctor, rows
from tests.suite.nightly import first

home = doctor_homes.home
IDS = [f"00000000-0000-4000-8000-0000000000{number:02}" for number in range(1, 18)]
ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'
TABLES = {
    "sessions": "id",
    "transcript_events": "session_id, seq",
    "transcript_snapshots": "session_id, snapshot_id",
    "conversation_turns": "id",
    "session_days": "session_id, date",
    "session_tools": "session_id, date, tool",
    "tool_days": "date, tool, channel_id",
}
# The columns that make a row of a table another one, with other values.
DOUBLED = {
    "transcript_events": {"event_id": "event_id || 'x'", "seq": "seq + 100"},  # the same record twice
    "session_days": {"date": "'2020-01-01'"},
    "session_tools": {"date": "'2020-01-01'"},
    "transcript_snapshots": {"snapshot_id": "snapshot_id || 'x'"},
    "conversation_turns": {"id": "id || 'x'", "turn_number": "turn_number + 100"},
}
# One damage for each of the sessions: the statement about the session %s, and the rows that are named.
DAMAGES = [
    ("UPDATE sessions SET total_tokens = total_tokens + 1 WHERE id = '%s'", {"sessions.total_tokens"}),
    ("UPDATE sessions SET turn_count = 0 WHERE id = '%s'", {"sessions.turn_count"}),
    ("UPDATE sessions SET created_at = 1 WHERE id = '%s'", {"sessions.created_at"}),
    ("UPDATE session_days SET cost_usd = 0.001 WHERE session_id = '%s'", {"session_days.cost_usd"}),
    ("DELETE FROM session_days WHERE session_id = '%s'", {"session_days"}),
    ("INSERT INTO session_days SELECT session_id, '2020-01-01', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 FROM session_days"
     " WHERE session_id = '%s'", {"session_days"}),
    ("UPDATE conversation_turns SET error_count = 9 WHERE session_id = '%s' AND turn_number = 1",
     {"conversation_turns.error_count"}),
    ("DELETE FROM conversation_turns WHERE session_id = '%s' AND turn_number = 2", {"conversation_turns"}),
    ("UPDATE session_tools SET call_count = 7 WHERE session_id = '%s' AND tool = 'exec'", {"session_tools.call_count"}),
    ("DELETE FROM transcript_snapshots WHERE session_id = '%s'", {"transcript_snapshots"}),
    ("UPDATE transcript_events SET turn_number = 7, is_active = 0 WHERE session_id = '%s' AND seq = 1",
     {"transcript_events.turn_number", "transcript_events.is_active"}),
    ("UPDATE transcript_events SET total_tokens = 1 WHERE session_id = '%s' AND seq = 2",
     {"transcript_events.total_tokens"}),
    # The same record twice.
    ("INSERT INTO transcript_events SELECT session_id, 77, created_at, NULL, '', NULL, NULL, kind, turn_number,"
     " is_active, is_failed, is_synthetic, model, tool_name, tool_call_count, input_tokens, output_tokens,"
     " cache_read_tokens, cache_write_tokens, total_tokens, cost_usd, repeat_of, trim_json, event_json, full_zstd,"
     " error_group FROM transcript_events WHERE session_id = '%s' AND seq = 1", {"transcript_events"}),
    ("UPDATE transcript_events SET event_id = NULL WHERE session_id = '%s' AND seq = 1",
     {"transcript_events.event_id"}),
    ("UPDATE sessions SET withheld_count = 3 WHERE id = '%s'", {"sessions.withheld_count"}),
    ("DELETE FROM sessions WHERE id = '%s'", {"sessions"}),
    ("UPDATE transcript_events SET parent_id = parent_id || '7' WHERE session_id = '%s' AND seq = 4",
     {"transcript_events.parent_id"}),
]  # fmt: skip


# Columns that no record decides: what an index said once, which is kept, a time that only moves on, whether copies of
# records are compared at the next import, and the number of a turn, to which those of its records are set.
UNDECIDED = {
    "conversation_turns": {"turn_number"},
    "sessions": {
        *("session_key", "origin", "channel_id", "conversation_target", "account_id", "metadata", "parents", "title"),
        *("prompt_report_id", "last_activity_at", "source_state", "repeats_mark"),
    },
}
# Without a source, a record whose content is damaged is named by another check, and its session is not compared.
CONTENT = {"event_json", "trim_json", "full_zstd"}


def damage_at_random(home, sessions, seed, *, has_sources):
    """Change a value, delete or double a row of each session; returns session, table and statement of each damage.

    A deleted record without a source is lost: it is not mended.
    """
    chosen, damages = random.Random(seed), []
    for session in sessions:
        table = chosen.choice([table for table in TABLES if table != "tool_days"])
        key = "id" if table == "sessions" else "session_id"
        columns = {name: is_key for _n, name, _t, _m, _d, is_key in rows(home, f"PRAGMA table_info({table})", "main")}
        place = chosen.choice(rows(home, f"SELECT rowid FROM {table} WHERE {key} = '{session}' ORDER BY rowid", "main"))
        kind = chosen.choice(["change", "change", "delete", "double"])
        if kind == "delete" and (has_sources or table != "transcript_events"):
            sql = f"DELETE FROM {table} WHERE rowid = {place[0]}"
        elif kind == "double" and (numbered := DOUBLED.get(table)):
            values = ", ".join(numbered.get(name, name) for name in columns)
            sql = f"INSERT INTO {table} SELECT {values} FROM {table} WHERE rowid = {place[0]}"
        else:
            fixed = UNDECIDED.get(table, set()) | (set() if has_sources else CONTENT)
            name = chosen.choice(sorted(name for name, is_key in columns.items() if not is_key and name not in fixed))
            sql = f"UPDATE {table} SET {name} = coalesce({name}, 0) || '7' WHERE rowid = {place[0]}"
        change(home, sql, "main")
        damages.append((session, table, sql))
    return damages


def talk(number):
    yield user(f"Question {number}")
    yield assistant("", ("c1", "exec", {}))
    yield result("c1", f"out {number} " * 40)
    yield {"type": "compaction", "summary": "all of it", "firstKeptEntryId": "r1"}
    yield user("And then?")
    yield assistant(f"Answer {number}")


def collect(home, *words):
    status, out, err = run(home, "collect", *words, "--json", "--quiet")
    assert status == 0, err
    return orjson.loads(out)


@pytest.fixture
def source(home):
    made = Home(Path(f"{home}-source"))
    for number, session in enumerate(IDS):
        made.transcript(*talk(number), session=session)
    made.index({f"agent:main:irc:direct:p{n}": {"sessionId": name, "updatedAt": 1} for n, name in enumerate(IDS)})
    collect(home)
    return made


def read_all(home):
    return {table: rows(home, f"SELECT * FROM {table} ORDER BY {key}", "main") for table, key in TABLES.items()}


def get_names(report, session):
    own = [row for row in report["rows"] if row["session_id"] == session]
    return {row["table"] for row in own} | {f"{row['table']}.{name}" for row in own for name in row["columns"]}


def damage_all(home):
    for (sql, _named), session in zip(DAMAGES, IDS, strict=True):
        change(home, sql % session, "main")


@pytest.mark.parametrize("has_sources", [True, False])
def test_every_damaged_row_is_named_and_mended(home, source, has_sources):
    """Also when no source of the sessions is there any more: then from their own records."""
    before = read_all(home)
    if not has_sources:
        for file in (source.root / "agents" / "main" / "sessions").glob("*.jsonl"):
            file.unlink()
        collect(home)
        assert read_all(home) == before
    assert doctor(home, "--deep")[0]["rows"] == []
    damage_all(home)
    damaged = read_all(home)
    report, _status = doctor(home, "--deep", status=1)
    assert {row["session_id"] for row in report["rows"]} == set(IDS) and report["row_count"] == len(report["rows"])
    for (_sql, named), session in zip(DAMAGES, IDS, strict=True):
        assert named <= get_names(report, session), (session, get_names(report, session))
    assert read_all(home) == damaged and not list((home / "state" / "copies").glob("*-*"))
    fixed, _status = doctor(home, "--fix", "--deep")
    assert fixed["run"]["rows"] == [] and fixed["run"]["losses"] == []
    assert read_all(home) == before
    assert doctor(home, "--deep")[0]["rows"] == []


def test_only_what_was_read_is_compared(home, source):
    """New lines, new files and a rewritten file are no difference; they are imported first."""
    file = source.root / "agents" / "main" / "sessions" / f"{IDS[0]}.jsonl"
    with file.open("ab") as opened:
        opened.write(orjson.dumps({**user("Later"), "id": "later", "parentId": "r6"}) + b"\n")
    other = file.with_name(f"{IDS[1]}.jsonl")
    other.write_bytes(other.read_bytes().replace(b"Question", b"Demand"))
    source.transcript(user("New"), session="00000000-0000-4000-8000-0000000000aa")
    report, _status = doctor(home, "--deep", status=1)
    assert (report["rows"], report["losses"], report["to_read"]) == ([], [], 3)
    doctor(home, "--fix", "--deep")
    report, _status = doctor(home, "--deep", status=0)
    assert (report["rows"], report["losses"]) == ([], [])
    query = "SELECT user_message_content, is_active FROM conversation_turns WHERE user_message_content LIKE '% 1'"
    assert sorted(rows(home, query, "main")) == [("Demand 1", 1), ("Question 1", 0)]


def test_sums_of_a_session_that_is_not_here_are_named_and_go(home, source):
    """Its records, its row and its source are gone: what is lost stays a finding."""
    for table in ("transcript_events", "conversation_turns"):
        change(home, f"DELETE FROM {table} WHERE session_id = '{IDS[2]}'", "main")
    change(home, f"DELETE FROM sessions WHERE id = '{IDS[2]}'", "main")
    for file in source.root.rglob(f"*{IDS[2]}*.jsonl"):
        file.unlink()
    report, _status = doctor(home, "--deep", status=1)
    assert {"session_days", "session_tools", "transcript_snapshots"} <= get_names(report, IDS[2])
    assert report["losses"]
    fixed, _status = doctor(home, "--fix", "--deep", status=None)
    assert fixed["run"]["losses"]
    for table in ("session_days", "session_tools", "transcript_snapshots"):
        assert rows(home, f"SELECT * FROM {table} WHERE session_id = '{IDS[2]}'", "main") == []


@pytest.mark.parametrize("how", ["archive", "opted_out"])
def test_sessions_that_were_removed_are_not_made_again(home, source, how):
    """Their words are in no file afterwards, and rows that stayed of them are kept."""
    if how == "archive":
        assert run(home, "archive", "--older-than", "1d", "--quiet")[0] == 0
    else:
        assert run(home, "settings", "set", "collector.optedOutSenders", '["p0", "p1"]')[0] == 0
        collect(home, "--again")
    before = read_all(home)
    report, _status = doctor(home, "--deep")
    assert report["rows"] == [] and report["losses"] == []
    doctor(home, "--fix", "--deep")
    assert read_all(home) == before


def test_what_only_looks_different_is_no_finding(home, source):
    """The spelling of a record, records without a time, what earlier indexes said, and files that were renamed."""
    folder = source.root / "agents" / "main" / "sessions"
    timeless = source.transcript(user("When?"), assistant("No idea."), session="00000000-0000-4000-8000-0000000000aa")
    lines = [orjson.loads(line) for line in timeless.path.read_bytes().splitlines()]
    plain = [{name: value for name, value in line.items() if name != "timestamp"} for line in lines]
    timeless.path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in plain))
    os.utime(timeless.path, (1_770_000_000, 1_770_000_000))
    entries = {f"agent:main:irc:direct:p{n}": {"sessionId": name, "updatedAt": 2**41} for n, name in enumerate(IDS)}
    source.index(entries)
    collect(home)
    for entry in entries.values():
        entry |= {"updatedAt": 2**40, "label": "Another title"}
    source.index(entries)
    os.utime(timeless.path, (1_771_000_000, 1_771_000_000))
    collect(home)
    change(
        home,
        f"UPDATE transcript_events SET event_json = replace(event_json, ',\"', ', \"') WHERE session_id = '{IDS[0]}'",
        "main",
    )
    (folder / f"{IDS[1]}.jsonl").rename(folder / f"{IDS[1]}.jsonl.deleted.2026-02-22T03-00-00.000Z")
    (folder / f"{IDS[2]}.jsonl").rename(folder / f"{IDS[2]}.jsonl.reset.2026-02-22T03-00-00.000Z")
    report, _status = doctor(home, "--deep")
    assert (report["rows"], report["losses"], report["compared"]["skipped"]) == ([], [], {})
    assert "Every row of sessions was compared" in report["message"]


def test_words_that_are_withheld_are_not_lost_and_keep_their_type(home, source):
    script = source.transcript(session="00000000-0000-4000-8000-0000000000bb")
    for who in ("ann", "bob"):
        script.add(user(ENVELOPE % (who, f"words of {who}")), assistant(f"hello {who}"))
    source.index({"agent:main:irc:group:g": {"sessionId": script.session, "updatedAt": 1, "chatType": "group"}})
    collect(home)
    assert run(home, "settings", "set", "collector.optedOutSenders", '["bob"]')[0] == 0
    report, _status = doctor(home, "--deep", status=1)
    assert report["rows"] and report["losses"] == []
    collect(home, "--again")
    types = rows(home, "SELECT event_id, event_type FROM transcript_event_identities ORDER BY 1", "main")
    script.path.unlink()
    collect(home)
    assert [report["rows"] for report, _status in (doctor(home, "--deep"), doctor(home, "--fix", "--deep"))] == [[], []]
    assert rows(home, "SELECT event_id, event_type FROM transcript_event_identities ORDER BY 1", "main") == types
    assert "words of bob" not in str(rows(home, "SELECT event_json FROM transcript_events", "main"))


def test_artifacts_that_lost_their_row_are_named_and_mended(home, source):
    source.transcript(user("All?"), assistant("", ("c1", "exec", {})), result("c1", "a long line\n" * 9_000))
    collect(home)
    read = "SELECT id, session_id, record_id, turn_id, handle FROM artifacts ORDER BY 1"
    before = rows(home, read, "main")
    change(home, "DELETE FROM artifacts", "main")
    report, _status = doctor(home, "--deep", status=1)
    assert [(row["table"], row["key"], row["problem"]) for row in report["rows"]] == [
        ("artifacts", [artifact[0]], "missing") for artifact in before
    ]
    assert doctor(home, "--fix", "--deep")[0]["run"]["rows"] == []
    assert before and rows(home, read, "main") == before


def test_sessions_that_were_not_compared_are_said(home, source):
    """A rewritten source, and a session that no index names while somebody has opted out."""
    unnamed = source.transcript(*talk(20), session="00000000-0000-4000-8000-0000000000cc")
    collect(home)
    other = source.root / "agents" / "main" / "sessions" / f"{IDS[1]}.jsonl"
    other.write_bytes(other.read_bytes().replace(b"Question", b"Demand"))
    assert run(home, "settings", "set", "collector.optedOutSenders", '["nobody-here"]')[0] == 0
    report, _status = doctor(home, "--deep")
    assert report["compared"]["skipped"] == {"rewritten": 1, "undecided": 1}
    assert "1 session with sources that were rewritten" in report["message"] and unnamed.session
    assert "1 session that no session index names" in report["message"] and "Every row" not in report["message"]


@pytest.mark.parametrize(("seed", "has_sources"), first([(38, True), (39, False), (40, True), (41, False)]))
def test_forty_random_damages_are_named_and_mended(home, seed, has_sources):
    made, sessions = Home(Path(f"{home}-source")), [f"00000000-0000-4000-9000-0000000000{n:02}" for n in range(40)]
    for number, session in enumerate(sessions):
        made.transcript(*talk(number), session=session)
    made.index({f"agent:main:irc:direct:p{n}": {"sessionId": name, "updatedAt": 1} for n, name in enumerate(sessions)})
    collect(home)
    if not has_sources:
        for file in (made.root / "agents" / "main" / "sessions").glob("*.jsonl"):
            file.unlink()
        collect(home)
    before = read_all(home)
    damages = damage_at_random(home, sessions, seed, has_sources=has_sources)
    report, _status = doctor(home, "--deep", status=1)
    assert [damage for damage in damages if damage[1] not in get_names(report, damage[0])] == []
    doctor(home, "--fix", "--deep")
    assert read_all(home) == before
    assert doctor(home, "--deep")[0]["rows"] == []
