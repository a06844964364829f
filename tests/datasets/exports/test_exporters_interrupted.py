"""Runs that a person's message interrupted.

No call is separated from its result, and a turn that ended with a call is no answer.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.exports.histories import HISTORIES
from datasets.exports.turns import PARALLEL
from datasets.sample_texts import INJECTED, INTERRUPTED, UNKNOWN_ENVELOPE
from tests.datasets.exports.branches import agent, result, rows, sample, user

EXCLUDED = frozenset({INJECTED, UNKNOWN_ENVELOPE, INTERRUPTED})
FORMATS = ("sharegpt", "openai")
CUT = [
    *(user("Count the boats", 1), agent("Counting.", "c1")),
    *(user("in French please", 2), result("c1", "17"), agent("", "c2"), result("c2", "ok"), agent("Dix-sept.")),
    *(user("merci", 3), agent("Avec plaisir.")),
]


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_run_is_told_whole_in_the_turn_that_has_its_answer(format_, history):
    samples = [sample(2, "in French please", "Dix-sept."), sample(3, "merci", "Avec plaisir.")]
    read, done = rows(format_, *samples, branch=CUT, history=history, excluded=EXCLUDED)
    first = read[0]["conversations" if format_ == "sharegpt" else "messages"]
    text = "value" if format_ == "sharegpt" else "content"
    assert first[0][text] == "Count the boats\n\nin French please"
    kinds = [message.get("from") or message["role"] for message in first]
    results = [first[n][text] for n, kind in enumerate(kinds) if kind in ("observation", "tool")]
    assert results == ["17", "ok"]
    assert "messages_merged" in done[0] and "unanswered_tool_calls_dropped" not in done[0]
    assert not {"tool_results_without_call_dropped"} & set.union(*done)


@pytest.mark.parametrize("history", HISTORIES)
def test_the_interrupted_answer_is_in_no_row(history):
    read, _done = rows("sharegpt", sample(3, "merci", "Avec plaisir."), branch=CUT, history=history, excluded=EXCLUDED)
    assert all(message["value"] != "Counting." for row in read for message in row["conversations"])


def test_asked_for_it_is_a_row_as_it_was():
    samples = [sample(1, "Count the boats", "Counting."), sample(2, "in French please", "Dix-sept.")]
    read, _done = rows("sharegpt", *samples, branch=CUT, excluded=EXCLUDED - {INTERRUPTED})
    assert [message["value"] for message in read[0]["conversations"]] == ["Count the boats", "Counting."]
    assert [message["from"] for message in read[1]["conversations"]][-4:] == [
        *("human", "function_call", "observation", "gpt")
    ]


def test_the_run_of_a_prompt_is_not_continued_by_a_person():
    branch = [user("[cron:1 x] Count", 1, INJECTED), *CUT[1:]]
    read, _done = rows("sharegpt", sample(2, "in French please", "Dix-sept."), branch=branch, excluded=EXCLUDED)
    values = [message["value"] for message in read[0]["conversations"]]
    assert values[0] == "in French please" and "17" not in values


@pytest.mark.parametrize("exclusion", [INJECTED, UNKNOWN_ENVELOPE])
def test_turns_that_no_person_began_are_no_history_unless_asked_for(exclusion):
    branch = [
        *(user("One", 1), agent("First.")),
        *(user("[OpenClaw heartbeat poll]", 2, exclusion), agent("Nothing.")),
        *(user("Two", 3), agent("Second.")),
    ]
    read, done = rows("sharegpt", sample(3, "Two", "Second."), branch=branch, history="context", excluded=EXCLUDED)
    assert [message["value"] for message in read[0]["conversations"]] == ["One", "First.", "Two", "Second."]
    assert "machine_prompts_left_out" in done[0]
    read, _done = rows("sharegpt", sample(3, "Two", "Second."), branch=branch, history="context")
    assert len(read[0]["conversations"]) == 6


def test_alpaca_tells_the_whole_run_as_input():
    answered = sample(2, "in French please", "Dix-sept.", traits=frozenset({"tools"}))
    read, _done = rows("alpaca", answered, branch=CUT, tool_calls="input", excluded=EXCLUDED)
    assert read[0]["instruction"] == "Count the boats\n\nin French please"
    assert read[0]["input"].count("Tool: ") == read[0]["input"].count("Result:") == 2


STEP = st.sampled_from(["call", "both", "words", "results", "person", "prompt", "copy"])


@st.composite
def runs(draw):
    """Draw a branch of runs that people and prompts interrupt anywhere.

    Every result has its call before it.
    """
    branch, open_calls, turn, number = [user("q1", 1)], [], 1, 0
    for step in draw(st.lists(STEP, min_size=1, max_size=18)):
        if step in ("person", "prompt"):
            turn += 1
            branch.append(user(f"q{turn}", turn, INJECTED if step == "prompt" else ""))
        elif step == "results" and open_calls:
            count = draw(st.integers(1, len(open_calls)))
            branch += [result(call, f"of {call}") for call in open_calls[:count]]
            open_calls = open_calls[count:]
        elif step in ("call", "both"):
            names = [f"c{number + n}" for n in range(1 if step == "call" else 2)]
            number += len(names)
            open_calls += names
            branch.append(agent(draw(st.sampled_from(["", "Let me see."])), *names))
        elif step == "words":
            branch.append(agent(f"a{len(branch)}"))
        elif step == "copy":
            branch.append(agent("copy", synthetic=True))
    return branch


def _find_samples(branch):
    """A sample of each turn with a text of the agent.

    Its reply is the last text, as in the store.
    """
    question_message, replies, ends_with_call, samples = None, {}, {}, []
    for message in branch:
        if message.role == "user":
            question_message = message
        elif message.role == "assistant" and not message.is_synthetic and message.text:
            replies[question_message.turn_number], ends_with_call[question_message.turn_number] = (
                (question_message, message.text),
                bool(message.calls),
            )
    for number, (question, reply) in replies.items():
        if not question.exclusion and not ends_with_call[number]:
            samples.append(sample(number, question.text, reply))
    return samples


@settings(max_examples=400)
@given(
    branch=runs(),
    history=st.sampled_from(HISTORIES),
    format_=st.sampled_from(FORMATS),
    is_open=st.booleans(),
    parallel=st.sampled_from(PARALLEL),
)
def test_no_pair_is_ever_split(branch, history, format_, is_open, parallel):
    excluded = EXCLUDED - {INTERRUPTED} if is_open else EXCLUDED
    read, _done = rows(
        format_, *_find_samples(branch), branch=branch, history=history, excluded=excluded, parallel_calls=parallel
    )  # checks pairs
    for row in read:
        messages = row["conversations" if format_ == "sharegpt" else "messages"]
        kinds = [message.get("from") or message["role"] for message in messages]
        assert kinds[-1] in ("gpt", "assistant")
        if format_ == "sharegpt":
            assert kinds.count("function_call") == kinds.count("observation")
        else:
            call_ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
            assert call_ids == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
            assert len(set(call_ids)) == len(call_ids)
        spoken = " ".join(message.get("value", message.get("content", "")) or "" for message in messages)
        prompts = {message.text for message in branch if message.role == "user" and message.exclusion}
        assert not prompts & set(spoken.split())
