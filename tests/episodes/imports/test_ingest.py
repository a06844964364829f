"""`episodes ingest`: a spool of openclaw-mem becomes events, its file is only read."""

import hashlib
import json
import os
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from agents.databases import get_alias, get_path
from agents.models import Agent
from episodes import redaction, retention
from episodes.models import EpisodicEvent
from episodes.redaction import Redaction
from openclaw_web import clock
from people.configuration import setting_values as configuration
from tests.episodes.commands.command_line import ask, fail, run

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-mem"
pytestmark = pytest.mark.django_db


@pytest.fixture
def spool(real_files, tmp_path):
    return tmp_path / "spool.jsonl"


def line(**fields):
    event = {"event_id": "e1", "ts_ms": clock.now_ms(), "session_id": "s", "agent_id": "lyria", "scope": "team"}
    event |= {"type": "ops.decision", "summary": "done"}
    return json.dumps(event | fields, ensure_ascii=False) + "\n"


def write(spool, *lines):
    with spool.open("ab") as file:
        file.writelines(text if isinstance(text, bytes) else text.encode() for text in lines)


def ingest(spool, *words):
    return ask("ingest", "--file", str(spool), *words)


def events(agent="main"):
    return {row.event_id: row for row in EpisodicEvent.objects.using(get_alias(agent)).order_by("id")}


def one_event(spool, **fields):
    """Ingest one line, and return its event."""
    write(spool, line(**fields))
    ingest(spool)
    (row,) = events().values()
    return row


@pytest.mark.skipif(not FOLDER.exists(), reason="the recorded spool is not on this machine")
def test_the_recorded_spool_has_the_events_that_the_real_tool_made_of_it(spool):
    write(spool, (FOLDER / "openclaw-mem-episodes.jsonl").read_bytes())
    receipt = ingest(spool)
    assert (receipt["inserted"], receipt["bounded"]["redacted_late"], receipt["source"]["state"]) == (67, 1, None)
    with closing(sqlite3.connect(f"file:{FOLDER / 'openclaw-mem.sqlite'}?immutable=1", uri=True)) as database:
        database.row_factory = sqlite3.Row
        source_rows = database.execute("SELECT * FROM episodic_events WHERE event_id LIKE 'ep-%'").fetchall()
    rows = events()
    assert rows.keys() == {row["event_id"] for row in source_rows}
    names = ["ts_ms", "scope", "session_id", "agent_id", "type", "redacted", "summary", "payload_json", "refs_json"]
    for source_row in source_rows:
        own = [getattr(rows[source_row["event_id"]], name) for name in names]
        theirs = [source_row[name] for name in names]
        if "[REDACTED_PHONE]" in (theirs[-1] or ""):  # the hyphens and digits of a session's id, which are no number
            own[-1], theirs[-1] = None, None
        assert own == (theirs if not source_row["redacted"] else [*theirs[:6], "[REDACTED]", None, None])


def test_only_new_lines_are_read_and_an_incomplete_one_waits(spool):
    write(spool, line(), "\n", line(event_id="e2")[:-5])
    receipt = ingest(spool)
    assert receipt["lines"] == {"total": 1, "blank": 1, "invalid_json": 0, "invalid_event": 0, "duplicates": 0}
    assert receipt["source"]["trailing_partial_bytes"] == len(line(event_id="e2")) - 5
    write(spool, line(event_id="e2")[-5:])
    again = ingest(spool)
    assert again["source"]["start_offset"] == receipt["source"]["next_offset"] > 0
    assert (again["lines"]["total"], again["inserted"]) == (1, 1)
    last = spool.read_bytes()[receipt["source"]["next_offset"] :]
    assert again["source"]["processed_sha256"] == hashlib.sha256(last).hexdigest()
    assert ingest(spool)["source"]["processed_sha256"] is None


@pytest.mark.parametrize(
    ("change", "recovery", "known"),
    [("shorter", "reset_to_zero_source_shrunk", 0), ("replaced", "reset_to_zero_source_replaced", 2)],
)
def test_a_spool_that_is_another_one_is_read_from_its_start(spool, change, recovery, known):
    write(spool, line(), line(event_id="e2"))
    ingest(spool)
    text = spool.read_text() if change == "replaced" else ""
    if change == "replaced":
        other = spool.with_name("other")
        other.write_text(text)
        other.replace(spool)
    else:
        spool.write_text(text)
    write(spool, line(event_id="e3"))
    receipt = ingest(spool)
    assert receipt["source"]["offset_recovery"] == recovery and receipt["source"]["start_offset"] == 0
    assert (receipt["inserted"], receipt["lines"]["duplicates"]) == (1, known)
    assert set(events()) == {"e1", "e2", "e3"}


def test_a_spool_that_was_cut_and_grew_is_read_from_its_start(spool):
    write(spool, line())
    ingest(spool)
    spool.write_text("")
    write(spool, line(event_id="e2"), line(event_id="e3"))
    assert ingest(spool)["inserted"] == 2


def test_a_ledger_that_lost_its_events_gets_them_again(spool):
    write(spool, line())
    ingest(spool)
    call = ("ingest", "--file", str(spool), "--agent", "other")
    assert ask(*call)["inserted"] == 1  # each agent has its own position
    assert ask(*call)["lines"]["total"] == 0


def test_lines_that_are_no_events_are_named(spool):
    write(spool, "no json\n", "[]\n", line(type="ops.new"), line(session_id=""), line(event_id="two words"))
    write(spool, line(ts_ms=0), line(session_id="episodes-retention"), line(event_id="good"))
    receipt = ingest(spool)
    assert receipt["lines"] | {"total": 8, "invalid_json": 2, "invalid_event": 5} == receipt["lines"]
    assert receipt["errors_sample"][0] == "line@0: invalid_json" and len(receipt["errors_sample"]) == 5
    assert "invalid type: ops.new" in receipt["errors_sample"][2] and list(events()) == ["good"]


def test_a_line_without_an_id_has_that_of_the_existing_tool(spool):
    text = json.dumps({"type": "ops.alert", "summary": "down", "session_id": "s", "agent_id": "a"})
    write(spool, "\n", f"{text}\n")
    ingest(spool)
    assert list(events()) == ["ep-" + hashlib.sha256(f"1:{text}".encode()).hexdigest()[:32]]


def test_a_scope_tag_is_obeyed_and_a_named_scope_comes_first(spool):
    write(spool, line(scope=None, summary="[scope: Project Alpha] hello"))
    write(spool, line(event_id="e2", summary="[SCOPE: other] hello"))
    write(spool, line(event_id="e3", scope="", summary="plain"))
    write(spool, line(event_id="e4", scope=None, summary="[SCOPE: 面包] hello"))
    write(spool, line(event_id="e5", scope=None, summary=f"[SCOPE: {'x' * 300}] hello"))
    assert ingest(spool)["lines"]["invalid_event"] == 1
    rows = events().values()
    expected = [("project-alpha", "hello"), ("team", "hello"), ("global", "plain"), ("global", "hello")]
    assert [(row.scope, row.summary) for row in rows] == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"summary": "the password: hunter2"},
        {"payload": {"deep": [{"note": "api_key=hunter2Xq9zR4mLw8"}]}},
        {"payload": {"password": "hunter2"}},
        {"refs": {"url": "token ghp_hunter2Xq9zR4mLw8Kd7TbY3cVn5sPj6QfAe1"}},
        {"redacted": True, "payload": {"text": "hunter2"}},
    ],
)
def test_an_event_with_a_secret_is_stored_without_its_texts(spool, fields):
    row = one_event(spool, **fields)
    assert (row.redacted, row.summary, row.payload_json, row.refs_json) == (1, "[REDACTED]", None, None)
    file = get_path("main")
    stored = b"".join(path.read_bytes() for path in file.parent.iterdir() if path.name.startswith(file.name))
    assert b"lyria" in stored and b"hunter2" not in stored


def test_addresses_and_numbers_are_masked(spool):
    row = one_event(spool, summary="ask bob@corp-mail.io", payload={"text": "call +49 170 1234567"})
    assert row.summary == "ask [REDACTED_EMAIL]" and row.payload == {"text": "call [REDACTED_PHONE]"}


@pytest.mark.parametrize(
    ("payload", "is_stored"), [({"at": 1_795_230_378_797}, True), ({"phone": 491701234567}, False)]
)
def test_a_payload_with_a_telephone_number_is_left_out_and_its_summary_stays(spool, payload, is_stored):
    row = one_event(spool, payload=payload, refs={"a": 1})
    assert (row.redacted, row.summary, row.payload, row.refs) == (
        0,
        "done",
        *((payload, {"a": 1}) if is_stored else (None, None)),
    )


def test_a_conversation_that_holds_tool_output_is_stored_without_it(spool):
    write(spool, line(type="conversation.user", payload={"text": "Traceback: x"}, refs={"a": 1}))
    assert ingest(spool)["bounded"]["redacted_late"] == 1
    (row,) = events().values()
    assert (row.redacted, row.summary, row.payload_json, row.refs) == (0, "done", None, {"a": 1})


def test_payloads_are_bounded(spool):
    big = {"text": "x" * 3_000 + "ü" * 3_000}
    write(spool, line(type="conversation.user", payload=big), line(event_id="e2", payload=big, refs={"r": "y" * 5_000}))
    bounded = ingest(spool)["bounded"]
    assert (bounded["payload_truncated"], bounded["refs_truncated"]) == (2, 1)
    rows = events()
    assert rows["e1"].payload["_truncated"] and rows["e1"].payload["reason"] == "payload_cap"
    assert len(rows["e1"].payload["preview"]) == 256
    assert rows["e2"].refs["reason"] == "refs_cap"


def test_output_keys_deep_levels_and_many_items_are_left_out(spool):
    deep = {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}
    row = one_event(spool, payload={"stdout": "x", "deep": deep, "list": list(range(100))})
    assert row.payload["_redacted_output_fields"] == 1 and "stdout" not in row.payload
    assert len(row.payload["list"]) == 48
    assert "[TRUNCATED_DEPTH]" in row.payload_json


def test_what_was_redacted_or_removed_here_does_not_come_back(spool):
    old = clock.now_ms() - 100 * clock.DAY_MS
    write(spool, line(summary="flour"), line(event_id="e2", type="tool.call", ts_ms=old))
    ingest(spool)
    agent = Agent.objects.get(agent_id="main")
    redaction.redact(agent, Redaction.parse("team", event_id="e1"), by="test")
    retention.run(agent, "team", by="test")
    spool.write_text("")
    write(spool, line(summary="flour"), line(event_id="e2", type="tool.call", ts_ms=old), line(event_id="e3"))
    receipt = ingest(spool)
    assert receipt["lines"] | {"duplicates": 1, "expired": 1} == receipt["lines"] and receipt["inserted"] == 1
    assert events()["e1"].summary == "[REDACTED]" and "e2" not in events()


def test_while_somebody_is_opted_out_only_direct_conversations_of_others_are_stored(spool):
    configuration.put("collector.optedOutSenders", ["bob"])
    write(spool, line(), line(event_id="e2", session_id="agent:main:telegram:direct:alice"))
    assert ingest(spool)["lines"]["withheld"] == 1
    assert list(events()) == ["e2"]
    configuration.put("collector.optedOutSenders", [])
    assert ingest(spool)["inserted"] == 1


@pytest.mark.parametrize(
    "words", [["--truncate"], ["--rotate"], ["--follow", "--rotate-on-idle-seconds", "5"], ["--rotate-min-bytes", "9"]]
)
def test_options_that_change_the_spool_are_refused(spool, words):
    write(spool, line())
    before = spool.read_bytes()
    status, receipt = fail("ingest", "--file", str(spool), *words)
    assert status == 2 and f"{words[-2] if words[-1].isdigit() else words[-1]} is refused" in receipt["error"]
    assert spool.read_bytes() == before and not Agent.objects.filter(agent_id="main").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--file", "/nowhere/spool"], "source file not found: /nowhere/spool"),
        (["--payload-cap-bytes", "0"], "payload/refs caps must be > 0"),
        (["--follow", "--poll-interval-ms", "50"], "--poll-interval-ms must be >= 100"),
        (["--follow", "--idle-exit-seconds", "-1"], "--idle-exit-seconds must be >= 0"),
    ],
)
def test_wrong_input_ends_with_status_2(spool, words, sentence):
    write(spool, line())
    assert fail("ingest", "--file", str(spool), *words)[0] == 2
    assert fail("ingest", "--file", str(spool), *words)[1]["error"] == sentence


def test_a_link_is_followed_to_the_spool_and_a_second_name_is_not_read(spool, tmp_path):
    write(spool, line())
    link = tmp_path / "link.jsonl"
    link.symlink_to(spool)
    assert ingest(link)["inserted"] == 1
    (tmp_path / "hard.jsonl").hardlink_to(spool)
    assert fail("ingest", "--file", str(spool))[0] == 2


def test_the_state_option_is_ignored_with_a_line(spool, tmp_path, capsys):
    write(spool, line())
    state = tmp_path / "state.json"
    run("ingest", "--file", str(spool), "--state", str(state))
    assert "--state is ignored" in capsys.readouterr().err and not state.exists()


def test_following_reads_what_is_appended_until_nothing_comes(spool):
    write(spool, line())
    writer = threading.Timer(0.4, write, [spool, line(event_id="e2")])
    writer.start()
    receipt = ingest(spool, "--follow", "--poll-interval-ms", "100", "--idle-exit-seconds", "1")
    writer.join()
    assert receipt["follow"]["stop_reason"] == "idle_timeout" and receipt["aggregate"]["inserted"] == 2
    assert receipt["follow"]["active_cycles"] == 2 and receipt["follow"]["cycles"] > 4
    assert set(events()) == {"e1", "e2"}


def test_following_waits_for_a_missing_spool(spool):
    receipt = ingest(spool, "--follow", "--poll-interval-ms", "100", "--idle-exit-seconds", "0.3")
    assert receipt["last_cycle"] is None and receipt["follow"]["source_missing_cycles"] > 1


def test_a_signal_ends_following_with_a_receipt(spool):
    write(spool, line())
    timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGTERM])
    timer.start()
    receipt = ingest(spool, "--follow", "--poll-interval-ms", "100")
    assert (receipt["follow"]["stop_reason"], receipt["follow"]["signal"]) == ("signal", "SIGTERM")


def test_memory_stays_flat_for_a_large_spool(spool):
    """A line of 20 MB is named and skipped, and lines behind it are read."""
    write(spool, line(), b'{"summary":"' + b"x" * (20 << 20) + b'"}\n', line(event_id="e2"))
    receipt = ingest(spool)
    assert receipt["lines"] | {"total": 3, "invalid_json": 1, "blank": 0} == receipt["lines"]
    assert set(events()) == {"e1", "e2"} and receipt["source"]["next_offset"] == spool.stat().st_size
