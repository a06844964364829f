"""Conversations without tool calls leave out replies that rest on what a tool returned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.exports import changes
from datasets.exports.changes import RESTS_ON_TOOLS
from datasets.exports.files import encode_line
from datasets.exports.histories import HISTORIES
from datasets.exports.options import Options
from datasets.exports.rows import Shape, build_rows
from tests.datasets.exports.branches import agent, result, sample, user
from tests.datasets.exports.test_exporters_histories import BRANCHES, build_branch, find_samples
from tests.datasets.exports.test_exporters_properties import thorough

WITH_TOOLS = [user("q2", 2), agent("", "c"), result("c", "secret"), agent("a2")]
TALK = [user("q1", 1), agent("a1"), *WITH_TOOLS, user("q3", 3), agent("a3"), user("q4", 4), agent("a4")]
SAMPLES = [sample(number, f"q{number}", f"a{number}") for number in range(1, 5)]


def shape(format_="sharegpt", **choices):
    return Options(format_, "reply", tool_calls="leave_out", **choices).shape


def describe_rows(branch=TALK, samples=SAMPLES, **choices):
    """Yield each turn's number, the texts of its row or its exclusion reason, and its changes."""
    row_shape = shape(**choices)
    for made in build_rows(row_shape, samples, branch):
        if made.row is None:
            yield made.sample.turn_number, made.left_out, set()
            continue
        done = made.changes | made.row[column_of(row_shape)].changes
        reason = max(row_shape.withheld & done, default="")
        yield made.sample.turn_number, reason or made.row[column_of(row_shape)].texts, set(done) - row_shape.withheld


def column_of(row_shape):
    return "conversations" if row_shape.format == "sharegpt" else "messages"


@pytest.mark.parametrize("format_", ["sharegpt", "openai"])
@pytest.mark.parametrize("history", ["edited", "context"])
def test_a_conversation_begins_after_a_turn_that_rests_on_tools(format_, history):
    described = list(describe_rows(format_=format_, history=history))
    after = {changes.HISTORY_AFTER_TOOLS}
    assert described[0] == (1, ["q1", "a1"], set())
    assert described[1][:2] == (2, RESTS_ON_TOOLS)
    assert described[2:] == [(3, ["q3", "a3"], after), (4, ["q3", "a3", "q4", "a4"], after)]


def test_the_row_of_a_session_ends_before_it_or_begins_after_it():
    assert list(describe_rows(history="session")) == [
        (2, RESTS_ON_TOOLS, set()),
        (3, "after_gap", set()),
        (4, "after_gap", set()),
        (1, ["q1", "a1"], set()),
    ]
    later = list(describe_rows(TALK[2:], SAMPLES[1:], history="session"))
    assert later == [(2, RESTS_ON_TOOLS, set()), (4, ["q3", "a3", "q4", "a4"], {changes.HISTORY_AFTER_TOOLS})]


def test_a_result_whose_call_is_gone_counts():
    ((_, why, _),) = describe_rows([user("q1", 1), result("c"), agent("a1")], SAMPLES[:1])
    assert why == RESTS_ON_TOOLS


def test_what_was_said_before_calls_that_led_to_nothing_is_taken():
    branch = [user("q1", 1), agent("a1", "c"), result("c")]
    ((_, texts, done),) = describe_rows(branch, SAMPLES[:1], include=["interrupted"])
    assert texts == ["q1", "a1"] and done == {changes.TAIL_DROPPED}


def test_a_call_without_a_result_does_not_count():
    ((_, texts, done),) = describe_rows([user("q1", 1), agent("", "c"), agent("a1")], SAMPLES[:1])
    assert texts == ["q1", "a1"] and done == {changes.CALLS_DROPPED}


def test_with_tools_nothing_of_it_is_said():
    outcomes = list(build_rows(Shape("sharegpt", "reply"), SAMPLES, TALK))
    assert all(RESTS_ON_TOOLS not in encode_line(outcome.row, outcome.changes)[2] for outcome in outcomes)


@thorough
@given(
    kinds=BRANCHES,
    numbers=st.sets(st.integers(1, 12), min_size=1),
    history=st.sampled_from(HISTORIES),
    format_=st.sampled_from(["sharegpt", "openai"]),
)
def test_no_row_tells_of_tools_and_messages_have_two_keys(kinds, numbers, history, format_):
    branch = build_branch(kinds)
    row_shape = shape(format_, history=history)
    for made in build_rows(row_shape, list(find_samples(branch, numbers)), branch):
        if made.row is None or row_shape.withheld & encode_line(made.row, made.changes)[2]:
            continue
        messages = made.row[column_of(row_shape)].messages
        assert {next(iter(message.values())) for message in messages} <= {"human", "gpt", "user", "assistant"}
        assert all(len(message) == 2 for message in messages) or history == "context"
