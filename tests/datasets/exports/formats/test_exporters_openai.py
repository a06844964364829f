"""Rows for OpenAI's fine-tuning: roles, call ids, weights, and conversations that OpenAI refuses."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.exports import changes
from datasets.exports.dialects import NAME, OPENAI
from datasets.exports.histories import HISTORIES
from datasets.exports.rows import SampleOutcome, Shape, build_rows, build_source
from datasets.exports.rules import find_broken_rules
from datasets.exports.turns import PARALLEL, SPLIT
from datasets.json_texts import clean_value
from tests.datasets.exports.branches import Call, agent, gate, result, rows, sample, user
from tests.datasets.exports.test_exporters_properties import BRANCHES, WORDS, number_turns, thorough


def build_messages(*samples, **shape):
    (row,), (done,) = rows("openai", *(samples or [sample()]), **shape)
    return row["messages"], done


def test_a_call_without_words_has_no_content():
    messages, _ = build_messages(branch=[user("question", 1), agent("", "c"), result("c", ""), agent("answer")])
    assert list(messages[1]) == ["role", "tool_calls"]
    assert messages[2] == {"role": "tool", "tool_call_id": "call00001", "content": ""}


@pytest.mark.parametrize(
    ("kind", "rest"), [("openai", ["role", "tool_calls"]), ("messages", ["role", "content", "tool_calls"])]
)
def test_parallel_calls_may_be_a_message_each(kind, rest):
    branch = [user("question", 1), agent("Both.", "c", "d"), result("c", "one"), result("d", "two"), agent("answer")]
    (row,), (done,) = rows(kind, sample(), branch=branch, parallel_calls=SPLIT)
    first, answer, second, other = row["messages"][1:5]
    assert (first["content"], answer["content"], other["content"]) == ("Both.", "one", "two")
    assert [len(message["tool_calls"]) for message in (first, second)] == [1, 1]
    assert list(second) == rest and not second.get("content") and done == {changes.CALLS_SPLIT}


def test_several_messages_before_a_call_are_one():
    branch = [user("question", 1), agent("First."), agent("Then.", "c"), result("c"), agent("answer")]
    messages, done = build_messages(branch=branch)
    assert messages[1]["content"] == "First.\n\nThen." and done == {changes.MESSAGES_MERGED}


@pytest.mark.parametrize(
    ("name", "written"),
    [("fs.read:file", "fs_read_file"), ("読む", "__"), ("x" * 70, "x" * 64), ("apple-notes_1", None)],
)
def test_names_that_are_not_allowed_are_written_otherwise_and_counted(name, written):
    branch = [user("question", 1), agent("", Call("c", name)), result("c"), agent("answer")]
    messages, done = build_messages(branch=branch)
    assert messages[1]["tool_calls"][0]["function"]["name"] == (written or name)
    assert done == ({changes.TOOL_NAMES_CHANGED} if written else set())


def test_turns_of_the_context_have_no_weight_for_a_trainer():
    branch = [user("q1", 1), agent("", "c"), result("c"), agent("a1"), user("q2", 2), agent("", "d"), result("d")]
    messages, _ = build_messages(sample(2, "q2", "a2"), branch=[*branch, agent("a2")], history="context")
    assert [message.get("weight") for message in messages] == [None, 0, None, 0, None, 1, None, 1]
    plain, _ = build_messages(sample(1, "q1", "a1"), branch=branch)
    assert not any("weight" in message for message in plain)


def test_long_results_are_cut_each_for_itself():
    branch = [
        user("question", 1),
        agent("", "a", "b"),
        result("a", "x" * 90_000),
        result("b", "short"),
        agent("answer"),
    ]
    messages, done = build_messages(branch=branch, row_characters=4_000)
    assert messages[2]["content"].endswith("characters left out …]") and messages[3]["content"] == "short"
    assert OPENAI.size(messages) <= 4_000 and done == {changes.TOOL_RESULTS_SHORTENED}


def test_where_a_row_comes_from_is_told_beside_it():
    made = SampleOutcome(sample(gate=gate(), quality_score=0.5), None, control_tokens="</s> <s>")
    assert build_source(made) == {
        "sample_id": "sample-1",
        "agent_id": "ada",
        "session_id": "s1",
        "turn_number": "1",
        "quality_score": "0.5",
        "memory_gate_decision": "UPDATE_USER",
        "candidate_fact": "prefers mornings",
        "system_source": "",
        "tools_source": "",
        "control_tokens": "</s> <s>",
    }


# Rows that OpenAI refuses

USER, ANSWER = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}


def call_message(*ids, **changes_to_function):
    function = {"name": "x", "arguments": "{}"} | changes_to_function
    return {"role": "assistant", "tool_calls": [{"id": id_, "type": "function", "function": function} for id_ in ids]}


def result_message(id_):
    return {"role": "tool", "tool_call_id": id_, "content": "r"}


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        ([], "odd_count"),
        ("text", "odd_count"),
        ([USER], "no_reply"),
        ([ANSWER], "alternation"),
        ([USER, USER, ANSWER], "alternation"),
        ([USER, ANSWER, ANSWER], "alternation"),
        ([USER, {"role": "developer", "content": "a"}], "message_keys"),
        ([USER, {"role": ["assistant"], "content": "a"}], "message_keys"),
        (["text", ANSWER], "message_keys"),
        ([USER, ANSWER | {"note": "x"}], "message_keys"),
        ([USER | {"weight": 1}, ANSWER], "message_keys"),
        ([USER, {"role": "assistant"}], "message_keys"),
        ([USER, {"role": "assistant", "content": None}], "message_keys"),
        ([USER, ANSWER | {"weight": 2}], "message_keys"),
        ([USER, ANSWER | {"weight": True}], "message_keys"),
        ([{"role": "user", "content": " "}, ANSWER], "empty"),
        ([USER, {"role": "assistant", "content": ""}], "empty"),
        ([USER, call_message("a"), ANSWER], "call_without_result"),
        ([USER, call_message("a", "b"), result_message("a"), ANSWER], "call_without_result"),
        ([USER, call_message("a"), result_message("a"), result_message("a"), ANSWER], "result_without_call"),
        ([USER, result_message("a"), ANSWER], "result_without_call"),
        ([USER, call_message("a"), result_message("a")], "no_reply"),
        ([USER, call_message("a", "a"), result_message("a"), ANSWER], "call_id"),
        ([USER, call_message("a"), result_message("a"), call_message("a"), result_message("a"), ANSWER], "call_id"),
        ([USER, call_message("a", name="a.b"), result_message("a"), ANSWER], "call"),
        ([USER, call_message("a", name="x" * 65), result_message("a"), ANSWER], "call"),
        ([USER, call_message("a", arguments="[]"), result_message("a"), ANSWER], "call"),
        ([USER, call_message("a", arguments="{"), result_message("a"), ANSWER], "call"),
        ([USER, call_message("a", arguments={}), result_message("a"), ANSWER], "call"),
        ([USER, call_message(""), result_message(""), ANSWER], "call"),
        ([USER, call_message(), ANSWER], "call"),
        ([USER, ANSWER, USER, ANSWER | {"weight": 1}], "weight"),
        ([USER, {"role": "system", "content": "s"}, ANSWER], "alternation"),
    ],
)
def test_conversations_that_openai_refuses(messages, rule):
    assert [broken.rule for broken in find_broken_rules("openai", {"messages": messages})][:1] == [rule]


def test_a_system_prompt_may_stand_first():
    assert find_broken_rules("openai", {"messages": [{"role": "system", "content": "s"}, USER, ANSWER]}) == []


def tool(name="exec", **about):
    return {"type": "function", "function": {"name": name, "description": "", "parameters": {"properties": {}}} | about}


@pytest.mark.parametrize(
    ("tools", "rules"),
    [
        ([tool()], []),
        ([tool(), tool("other")], []),
        ([], ["tools"]),
        ("[]", ["not_text"]),
        ([tool(), tool()], ["tools"]),
        ([tool("a.b")], ["tools"]),
        ([tool("x" * 65)], ["tools"]),
        ([tool(parameters=None)], ["tools"]),
        (["exec"], ["tools"]),
    ],
)
def test_tools_are_a_list_of_functions_with_names_of_their_own(tools, rules):
    broken = find_broken_rules("openai", {"messages": [USER, ANSWER], "tools": tools})
    assert [broken_rule.rule for broken_rule in broken] == (["tools"] if rules else [])


def test_other_columns_are_refused():
    assert [broken.rule for broken in find_broken_rules("openai", {"messages": [USER, ANSWER], "id": "x"})] == [
        "columns"
    ]


# Branches of any shape


@thorough
@given(
    branch=BRANCHES.map(number_turns),
    turns=st.lists(st.tuples(st.integers(1, 9), WORDS, WORDS), min_size=1, max_size=5),
    history=st.sampled_from(HISTORIES),
    parallel=st.sampled_from(PARALLEL),
)
def test_every_call_is_answered_at_once_and_its_arguments_read_back(branch, turns, history, parallel):
    arguments_called = [json.dumps(clean_value(call.arguments)) for message in branch for call in message.calls]
    samples = [sample(number, question, reply) for number, question, reply in sorted(turns)]
    for row in [
        made.row
        for made in build_rows(Shape("openai", "reply", history=history, parallel_calls=parallel), samples, branch)
        if made.row
    ]:
        messages = row["messages"].messages
        calls = [call for message in messages for call in message.get("tool_calls", ())]
        ids = [call["id"] for call in calls]
        assert ids == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        assert len(ids) == len(set(ids))
        for message, following in pairwise(messages) if parallel == SPLIT else ():
            if own := message.get("tool_calls"):
                assert [call["id"] for call in own] == [following["tool_call_id"]]
        for call in calls:
            assert NAME.fullmatch(call["function"]["name"])
            arguments = json.loads(call["function"]["arguments"])
            assert json.dumps(clean_value(arguments)) in arguments_called
