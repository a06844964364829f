"""The log of openclaw-reflection: a recording of the real plugin, and lines that it may write."""

import json
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.collectors.plugin_log import LogReader, read
from gate.collectors.source_decisions import DECISIONS, Rejection, SourceDecision
from gate.models import MemoryGateDecision
from tests.gate.collectors.plugin import MODEL, START, WORKSPACE, Plugin, line
from tests.odd_json import odd

RECORDED = (Path(__file__).resolve().parents[2] / "data" / "reflection" / "plugin.log").read_bytes().splitlines()
LAB, MAIN = "channel:irc:group:#lab", "agent:main:main"


def talk(plugin, key=LAB, words=("Hello", "Hi"), **decision):
    plugin.user(key, words[0])
    plugin.agent(key, words[1])
    plugin.decide(key, **decision)


def test_it_works():
    plugin = Plugin()
    talk(plugin)
    (decision,) = read(plugin.log)
    assert (decision.session_key, decision.original_key) == (LAB, "agent:main:irc:group:#lab")
    assert (decision.decision, decision.reason, decision.fact, decision.has_fact) == (
        "NO_WRITE",
        "Small talk.",
        None,
        False,
    )
    assert (decision.model, decision.workspace, decision.failure, decision.latency_ms) == (MODEL, WORKSPACE, "", 7)
    assert [(message.role, message.message) for message in decision.window] == [("user", "Hello"), ("agent", "Hi")]
    assert (decision.expected, decision.saw_user, decision.saw_reply) == (2, True, True)
    assert decision.reply == decision.window[1]
    assert decision.window[0].sender == "irc:alice"
    assert decision.at == START + 9


def test_the_recorded_run_has_every_kind_of_decision():
    reader = LogReader()
    decisions = [*read(RECORDED, reader), *reader.finish()]
    assert [(decision.decision, decision.failure) for decision in decisions] == [
        ("NO_WRITE", ""),
        ("UPDATE_USER", ""),
        ("UPDATE_MEMORY", ""),
        ("UPDATE_IDENTITY", ""),
        ("UPDATE_SOUL", ""),
        ("UPDATE_TOOLS", ""),
        ("UPDATE_USER", ""),
        ("NO_WRITE", "llm_request_failed"),
        ("UPDATE_USER", ""),
        ("NO_WRITE", "missing_candidate_fact"),
        ("NO_WRITE", ""),
        ("UPDATE_USER", ""),
    ]
    assert [len(decision.window) for decision in decisions] == [decision.expected for decision in decisions]
    assert all(
        decision.window[-1] == decision.reply and decision.saw_user and decision.original_key for decision in decisions
    )
    assert len({decision.id for decision in decisions}) == 12
    assert decisions[0].id == "348cef299cdbed9d58c8100a445504ed"  # ids must not change: they are what imports compare
    assert not reader.unknown


def test_the_decisions_are_those_that_can_be_stored():
    assert set(MemoryGateDecision.Decision.values) == DECISIONS


def test_ids_do_not_depend_on_what_was_read_before():
    whole = [decision.id for decision in read(RECORDED)]
    reader = LogReader()
    assert [decision.id for decision in read(RECORDED, reader)] == whole
    assert [decision.id for decision in read(RECORDED, reader)] == whole
    assert [decision.id for decision in read(RECORDED[40:])] == whole[-len([*read(RECORDED[40:])]) :]


def test_a_copy_of_a_log_with_one_decision_has_the_same_id():
    plugin, reader = Plugin(), LogReader()
    talk(plugin)
    first, second = read([*plugin.log, *plugin.log], reader)
    assert first.id == second.id


def test_equal_decisions_of_one_moment_are_one_and_counted():
    details = {"decision": "NO_WRITE", "reason": "x", "hasCandidateFact": False}
    lines = [line(START, "MessageHandler", "memory_gate decision evaluated", details, MAIN)] * 3
    reader = LogReader()
    first = [decision.id for decision in read(lines, reader)]
    assert (len(first), reader.equal) == (1, 2)
    reader.begin_file()
    assert [decision.id for decision in read(lines, reader)] == first


@given(st.lists(st.integers(0, len(RECORDED)), max_size=4))
def test_a_log_in_pieces_says_the_same(cuts):
    places = [0, *sorted(cuts), len(RECORDED)]
    reader, decisions = LogReader(), []
    for start, end in pairwise(places):
        decisions += read(RECORDED[start:end], reader)
    decisions += reader.finish()
    assert decisions == [*read(RECORDED)]


def test_a_decision_without_the_line_of_its_conversation():
    plugin = Plugin()
    talk(plugin)
    log = [raw for raw in plugin.log if b"decision evaluated" not in raw]
    (decision,) = read(log)
    assert (decision.session_key, decision.original_key, decision.decision) == (None, None, "NO_WRITE")
    assert (decision.latency_ms, decision.expected, len(decision.window)) == (7, 2, 2)
    reader = LogReader()
    assert not [*read(log, reader)]  # the line may come with the next part of the log
    tick = line(plugin.at + 60_000, "Heartbeat", "heartbeat tick", {"uptimeMs": plugin.at + 60_000 - START})
    assert [*read([tick], reader)] == [decision]


def test_a_problem_is_given_with_its_own_line():
    generated = {"decision": "NO_WRITE", "reason": "x", "hasCandidateFact": False}
    bad = {"decision": "MAYBE", "reason": "x"}
    lines = [line(START + number, "memory_gate", "memory_gate decision generated", generated) for number in range(2)]
    lines.append(line(START + 60_000, "MessageHandler", "memory_gate decision evaluated", bad, MAIN))
    reader = LogReader()
    assert [reader.feed(raw) for raw in lines] == [None, None, Rejection("bad_decision", "unknown decision MAYBE")]
    assert [decision.at for decision in reader.ready()] == [START, START + 1]


def test_a_failed_call_is_read_once_and_is_no_decision():
    plugin = Plugin()
    talk(plugin, reason="LLM request failed: 500")
    talk(plugin, reason="Missing candidate_fact for non-NO_WRITE decision")
    talk(plugin, reason="Invalid decision returned by memory_gate")
    talk(plugin, reason="Missing candidate_fact", decision="UPDATE_USER")
    results = [*read(plugin.log)]
    failures = ["llm_request_failed", "missing_candidate_fact", "invalid_decision", ""]
    assert [result.failure for result in results] == failures
    assert [result.latency_ms for result in results] == [7, 7, 7, 7]
    lone = [raw for raw in plugin.log if b"LLM request failed" in raw and b"evaluated" not in raw]
    (decision,) = read(lone)
    assert (decision.decision, decision.failure, decision.session_key) == ("NO_WRITE", "llm_request_failed", None)


@pytest.mark.parametrize(
    ("entry", "detail"),
    [
        ({"decision": "UPDATE_ALL", "reason": "x"}, "unknown decision UPDATE_ALL"),
        ({"decision": ["NO_WRITE"], "reason": "x"}, "unknown decision ['NO_WRITE']"),
        ({"reason": "x"}, "unknown decision None"),
        ({"decision": "NO_WRITE", "reason": 5}, "no reason"),
        ({"decision": "NO_WRITE"}, "no reason"),
    ],
)
def test_a_decision_that_cannot_be_used_is_one_problem(entry, detail):
    log = [
        line(START, "memory_gate", "memory_gate decision generated", entry),
        line(START, "MessageHandler", "memory_gate decision evaluated", entry, MAIN),
    ]
    assert [*read(log)] == [Rejection("bad_decision", detail)]
    assert [*read(log[1:])] == [Rejection("bad_decision", detail)]


def test_a_decision_without_a_time_or_with_an_odd_key():
    details = {"decision": "NO_WRITE", "reason": "x"}
    event = {"component": "MessageHandler", "event": "memory_gate decision evaluated", "details": details}
    when = {"timestamp": "2026-11-21T03:13:35.515Z"}
    for entry, detail in [(event, "no time"), ({**event, **when, "sessionKey": 5}, "no session key")]:
        assert [*read([orjson.dumps(entry)])] == [Rejection("bad_decision", detail)]
    (decision,) = read([orjson.dumps({**event, **when})])
    assert (decision.session_key, decision.has_fact, decision.window) == (None, None, None)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"nonsense", "not_json"),
        (b"[1]", "not_an_object"),
        (b'{"a": "\xff"}', "not_utf8"),
        (b'{"a": "\x00"}', "nul_bytes"),
        (b'{"a": "b', "truncated"),
        (b'{"a": 1e999}', "absurd_number"),
        (b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}", "too_deep"),
        (b'{"a":1}{"b":2}', "glued"),
        (b" " * (16 * 1024 * 1024 + 1), "too_long"),
    ],
)
def test_a_line_that_is_none_says_why(raw, reason):
    (problem,) = read([raw])
    assert problem.reason == reason


def test_empty_lines_are_nothing():
    assert [*read([b"", b"\n", b"  \r\n"])] == []


def test_half_an_emoji_is_replaced():
    raw = line(START, "MessageHandler", "memory_gate decision evaluated", {"decision": "NO_WRITE", "reason": "x"}, MAIN)
    (decision,) = read([raw.replace(b'"x"', rb'"\ud83d"')])
    assert decision.reason == "\ufffd"


def test_what_is_unknown_is_counted():
    reader = LogReader()
    snapshot = {"hookName": "voice", "bufferMessage": {"role": "tool", "message": "x", "timestamp": START}}
    lines = [
        line(START, "MessageHandler", "Buffer message snapshot", snapshot, MAIN),
        line(START, "MemoryDream", "dreamt"),
        line(START, "MessageHandler", "memory_gate dreamt"),
        b"{}",
    ]
    assert [*read(lines, reader)] == []
    assert reader.unknown == {
        "hook voice": 1,
        "role tool": 1,
        "Buffer message snapshot that cannot be read": 1,
        "MemoryDream: dreamt": 1,
        "MessageHandler: memory_gate dreamt": 1,
        ": ": 1,
    }


def test_names_that_a_log_invents_do_not_fill_the_memory():
    reader = LogReader()
    assert not [*read((line(START, "X", f"{number:06}" * 200) for number in range(3_000)), reader)]
    assert len(reader.unknown) <= 1_001
    assert reader.unknown["others"] == 2_000
    assert max(map(len, reader.unknown)) <= 120


def to_json(entry):
    """Returns JSON as anybody may write it, with numbers and half characters that orjson refuses."""
    return json.dumps(entry).encode()


PARSED = [orjson.loads(raw) for raw in RECORDED]
LINES = st.lists(
    st.binary(max_size=60)
    | st.sampled_from(RECORDED)
    | st.builds(lambda raw, end: raw[:end], st.sampled_from(RECORDED), st.integers(0, 600))
    | st.sampled_from(PARSED).flatmap(odd).map(to_json),
    max_size=30,
)


@given(LINES)
def test_no_line_stops_the_reader(lines):
    reader = LogReader()
    results = [*read(lines, reader), *reader.finish()]
    assert all(isinstance(result, SourceDecision | Rejection) for result in results)
    assert results == [*read(lines)]
    ids = [result.id for result in results if isinstance(result, SourceDecision)]
    assert all(len(id_) == 32 for id_ in ids)
