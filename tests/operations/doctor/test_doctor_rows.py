"""Rows of sessions that differ from what an import gives: `--deep` names each of them, and `--fix` mends exactly these.

The doctor runs as a real process.
"""

from pathlib import Path

import orjson
import pytest

from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import change, doctor, rows

pytestmark = pytest.mark.kill
home = doctor_homes.home
IDS = [f"00000000-0000-4000-8000-0000000000{number:02}" for number in range(1, 15)]
TABLES = {
    "sessions": "id",
    "transcript_events": "session_id, seq",
    "transcript_event_identities": "session_id, event_id",
    "transcript_snapshots": "session_id, snapshot_id",
    "conversation_turns": "id",
    "session_days": "session_id, date",
    "session_tools": "session_id, date, tool",
    "tool_days": "date, tool, channel_id",
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
    ("INSERT INTO transcript_events SELECT session_id, 77, created_at, kind, turn_number, is_active, is_failed,"
     " is_synthetic, model, tool_name, tool_call_count, input_tokens, output_tokens, cache_read_tokens,"
     " cache_write_tokens, total_tokens, cost_usd, repeat_of, trim_json, event_json, full_zstd FROM transcript_events"
     " WHERE session_id = '%s' AND seq = 1", {"transcript_events"}),
    ("DELETE FROM transcript_event_identities WHERE session_id = '%s' AND seq = 1", {"transcript_event_identities"}),
]  # fmt: skip


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
    report, _status = doctor(home, "--deep", status=1)  # an import leaves known records as they were
    assert {row["session_id"] for row in report["rows"]} == {IDS[1]}
    assert [(loss["kind"], loss["different"]) for loss in report["losses"]] == [("user", 1)]
    assert doctor(home, "--fix", "--deep", status=0)[0]["run"]["rows"] == []
    assert rows(home, "SELECT count(*) FROM conversation_turns WHERE user_message_content = 'Demand 1'", "main") == [
        (1,)
    ]
    assert doctor(home, "--deep", status=0)[0]["rows"] == []


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
