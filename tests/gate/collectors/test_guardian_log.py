"""The log of write_guardian, and the matching of its entries to decisions."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.collectors import guardian_log, plugin_log
from gate.collectors.guardian_log import WriteAttempt
from gate.collectors.source_decisions import Rejection
from tests.gate.collectors.plugin import START, Plugin, with_facts
from tests.odd_json import odd

RECORDED = Path(__file__).resolve().parents[2] / "data" / "reflection"
LINES = (RECORDED / "write-guardian.log.jsonl").read_bytes().splitlines()
ENTRY = json.loads(LINES[5])


def make_decisions(*decisions):
    """Returns decisions of one conversation, ten seconds apart."""
    plugin = Plugin()
    for decision in decisions:
        plugin.at += 10_000
        plugin.agent("agent:main:main", "Yes")
        plugin.decide("agent:main:main", decision)
        if decision != "NO_WRITE":
            plugin.write("agent:main:main", "refused update")
    return [*plugin_log.read(plugin.log)]


def written(at, fact, decision="UPDATE_USER"):
    return WriteAttempt(at, decision, "USER.md", "written", None, fact)


def read_facts(decisions, lines):
    return [decision.fact for decision in with_facts(decisions, lines)]


def test_it_works():
    writes = [*guardian_log.read(LINES)]
    assert [write.status for write in writes] == ["written"] * 5 + ["refused", "failed", "written"]
    refused = writes[5]
    assert (refused.decision, refused.target_file, refused.at) == ("UPDATE_USER", "USER.md", START + 209_397)
    assert refused.reason.startswith("Refused: ")
    assert (writes[0].reason, writes[0].fact[:15]) == (None, "I prefer short ")


def test_the_recorded_facts_belong_to_the_recorded_decisions():
    log = (RECORDED / "plugin.log").read_bytes().splitlines()
    decisions = [*plugin_log.read(log)]
    completed = with_facts(decisions, guardian_log.read(LINES))
    assert [decision.has_fact for decision in completed] == [decision.fact is not None for decision in completed]
    pairs = [(decision.window[-2].message, decision.fact) for decision in completed if decision.fact]
    assert len(pairs) == 8
    assert all(fact == message or fact in message for message, fact in pairs)
    assert [replace(decision, fact=None) for decision in completed] == decisions


def test_a_fact_goes_to_the_nearest_decision_of_its_kind_before_it():
    first, second, third = make_decisions("UPDATE_USER", "UPDATE_USER", "UPDATE_SOUL")
    assert read_facts([first, second, third], [written(second.at + 5, "a")]) == [None, "a", None]
    assert read_facts([first, second, third], [written(first.at, "a")]) == ["a", None, None]
    assert read_facts([first, second, third], [written(first.at - 1, "a")]) == [None, None, None]
    assert read_facts([third, second, first], [written(second.at + 5, "a")]) == [None, "a", None]


def test_each_fact_and_each_decision_is_used_once():
    first, second = make_decisions("UPDATE_USER", "UPDATE_USER")
    late = second.at + 5
    assert read_facts([first, second], [written(late, "a"), written(late + 1, "b"), written(late + 2, "c")]) == [
        "b",
        "a",
    ]


def test_what_gets_no_fact():
    nothing, update = make_decisions("NO_WRITE", "UPDATE_USER")
    lines = [written(update.at + 60_001, "late"), written(update.at + 1, None)]
    assert read_facts([nothing, update], lines) == [None, None]
    lines = [written(update.at + 60_000, "in time"), written(update.at + 1, None)]
    assert read_facts([nothing, update], lines) == [None, "in time"]
    known = replace(update, fact="known")
    assert read_facts([known], [written(update.at, "other")]) == ["known"]


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"timestamp": "yesterday"}, "no time"),
        ({"timestamp": None}, "no time"),
        ({"decision": "NO_WRITE"}, "unknown decision NO_WRITE"),
        ({"decision": ["UPDATE_USER"]}, "unknown decision ['UPDATE_USER']"),
        ({"status": "dreamt"}, "unknown status dreamt"),
        ({"candidateFact": 5}, "a file, reason or fact that is no text"),
        ({"targetFile": {}}, "a file, reason or fact that is no text"),
    ],
)
def test_a_line_that_cannot_be_used_says_why(change, detail):
    assert [*guardian_log.read([json.dumps(ENTRY | change).encode()])] == [Rejection("bad_decision", detail)]


def test_lines_that_are_none():
    assert [problem.reason for problem in guardian_log.read([b"", b"x", b"[]", LINES[0][:50]])] == [
        "not_json",
        "not_an_object",
        "truncated",
    ]


@given(st.lists(st.binary(max_size=40) | odd(ENTRY).map(lambda entry: json.dumps(entry).encode()), max_size=20))
def test_no_line_stops_the_reader(lines):
    results = [*guardian_log.read(lines)]
    assert all(isinstance(result, WriteAttempt | Rejection) for result in results)
    with_facts(make_decisions("UPDATE_USER"), [result for result in results if isinstance(result, WriteAttempt)])


@given(
    st.lists(st.sampled_from(["NO_WRITE", "UPDATE_USER", "UPDATE_SOUL"]), max_size=8),
    st.lists(st.tuples(st.integers(0, 120_000), st.sampled_from(["UPDATE_USER", "UPDATE_SOUL"])), max_size=8),
)
def test_no_fact_is_used_twice_or_too_early(decisions, moments):
    lines = [written(START + at, f"{number}", kind) for number, (at, kind) in enumerate(moments)]
    by_fact = {line.fact: line for line in lines}
    completed = [decision for decision in with_facts(make_decisions(*decisions), lines) if decision.fact is not None]
    assert len({decision.fact for decision in completed}) == len(completed)
    for decision in completed:
        line = by_fact[decision.fact]
        assert decision.decision == line.decision
        assert 0 <= line.at - decision.at <= 60_000
