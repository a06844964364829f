"""Rows for OpenAI's fine-tuning: roles, calls and their ids, what is not to be learned, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.exporters import changes
from datasets.exporters.conversations.histories import HISTORIES
from datasets.exporters.formats import openai
from datasets.exporters.formats.checks import find_broken_rules
from datasets.exporters.json_output import clean_value
from datasets.exporters.outcomes import SampleOutcome
from datasets.exporters.training_rows import Shape, build_rows
from tests.datasets.exports.branches import Call, agent, gate, result, rows, sample, user
from tests.datasets.exports.test_exporters_properties import BRANCHES, WORDS, numbered, often


def one(*samples, **shape):
    (row,), (done,) = rows("openai", *(samples or [sample()]), **shape)
    return row["messages"], done


def test_a_call_without_words_has_no_content():
    messages, _ = one(branch=[user("question", 1), agent("", "c"), result("c", ""), agent("answer")])
    assert list(messages[1]) == ["role", "tool_calls"]
    assert messages[2] == {"role": "tool", "tool_call_id": "call00001", "content": ""}


def test_several_messages_before_a_call_are_one():
    branch = [user("question", 1), agent("First."), agent("Then.", "c"), result("c"), agent("answer")]
    messages, done = one(branch=branch)
    assert messages[1]["content"] == "First.\n\nThen." and done == {changes.MESSAGES_MERGED}


@pytest.mark.parametrize(
    ("name", "written"),
    [("fs.read:file", "fs_read_file"), ("読む", "__"), ("x" * 70, "x" * 64), ("apple-notes_1", None)],
)
def test_names_that_are_not_allowed_are_written_otherwise_and_counted(name, written):
    branch = [user("question", 1), agent("", Call("c", name)), result("c"), agent("answer")]
    messages, done = one(branch=branch)
    assert messages[1]["tool_calls"][0]["function"]["name"] == (written or name)
    assert done == ({changes.TOOL_NAMES_CHANGED} if written else set())


def test_turns_of_the_context_have_no_weight_for_a_trainer():
    branch = [user("q1", 1), agent("", "c"), result("c"), agent("a1"), user("q2", 2), agent("", "d"), result("d")]
    messages, _ = one(sample(2, "q2", "a2"), branch=[*branch, agent("a2")], history="context")
    assert [message.get("weight") for message in messages] == [None, 0, None, 0, None, 1, None, 1]
    plain, _ = one(sample(1, "q1", "a1"), branch=branch)
    assert not any("weight" in message for message in plain)


def test_long_results_are_cut_each_for_itself():
    branch = [
        user("question", 1),
        agent("", "a", "b"),
        result("a", "x" * 90_000),
        result("b", "short"),
        agent("answer"),
    ]
    messages, done = one(branch=branch, row_characters=4_000)
    assert messages[2]["content"].endswith("characters left out …]") and messages[3]["content"] == "short"
    assert openai.SPELLING.size(messages) <= 4_000 and done == {changes.TOOL_RESULTS_SHORTENED}


def test_where_a_row_comes_from_is_told_beside_it():
    made = SampleOutcome(sample(gate=gate(), quality_score=0.5), None, control_tokens="</s> <s>")
    assert openai.build_source(made) == {
        "sample_id": "sample-1",
        "agent_id": "ada",
        "session_id": "s1",
        "turn_number": "1",
        "quality_score": "0.5",
        "memory_gate_decision": "UPDATE_USER",
        "candidate_fact": "prefers mornings",
        "control_tokens": "</s> <s>",
    }


# What OpenAI would refuse

USER, ANSWER = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}


def calling(*ids, **told):
    function = {"name": "x", "arguments": "{}"} | told
    return {"role": "assistant", "tool_calls": [{"id": id_, "type": "function", "function": function} for id_ in ids]}


def returned(id_):
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
        ([USER, calling("a"), ANSWER], "call_without_result"),
        ([USER, calling("a", "b"), returned("a"), ANSWER], "call_without_result"),
        ([USER, calling("a"), returned("a"), returned("a"), ANSWER], "result_without_call"),
        ([USER, returned("a"), ANSWER], "result_without_call"),
        ([USER, calling("a"), returned("a")], "no_reply"),
        ([USER, calling("a", "a"), returned("a"), ANSWER], "call_id"),
        ([USER, calling("a"), returned("a"), calling("a"), returned("a"), ANSWER], "call_id"),
        ([USER, calling("a", name="a.b"), returned("a"), ANSWER], "call"),
        ([USER, calling("a", name="x" * 65), returned("a"), ANSWER], "call"),
        ([USER, calling("a", arguments="[]"), returned("a"), ANSWER], "call"),
        ([USER, calling("a", arguments="{"), returned("a"), ANSWER], "call"),
        ([USER, calling("a", arguments={}), returned("a"), ANSWER], "call"),
        ([USER, calling(""), returned(""), ANSWER], "call"),
        ([USER, calling(), ANSWER], "call"),
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
    assert [found.rule for found in broken] == (["tools"] if rules else [])


def test_other_columns_are_refused():
    assert [broken.rule for broken in find_broken_rules("openai", {"messages": [USER, ANSWER], "id": "x"})] == [
        "columns"
    ]


# Whatever a branch looks like


@often
@given(
    branch=BRANCHES.map(numbered),
    turns=st.lists(st.tuples(st.integers(1, 9), WORDS, WORDS), min_size=1, max_size=5),
    history=st.sampled_from(HISTORIES),
)
def test_every_call_is_answered_at_once_and_its_arguments_read_back(branch, turns, history):
    asked = [json.dumps(clean_value(call.arguments)) for message in branch for call in message.calls]
    samples = [sample(number, asked, reply) for number, asked, reply in sorted(turns)]
    for row in [
        made.row for made in build_rows(Shape("openai", "reply", history=history), samples, branch) if made.row
    ]:
        messages = row["messages"].messages
        calls = [call for message in messages for call in message.get("tool_calls", ())]
        ids = [call["id"] for call in calls]
        assert ids == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        assert len(ids) == len(set(ids))
        for call in calls:
            assert openai.NAME.fullmatch(call["function"]["name"])
            arguments = json.loads(call["function"]["arguments"])
            assert json.dumps(clean_value(arguments)) in asked
