"""Rows of the training formats: what a sample and its branch become."""

import os
from pathlib import Path

import orjson
import pytest

from datasets.exports import changes
from datasets.exports.formats import COLUMNS
from datasets.exports.rows import Shape, find_unfit_reason
from datasets.sample_texts import CONTEXT_CHARACTERS, UnreadableSample, read_sample
from ledger.transcripts import trimming
from tests.datasets.exports.branches import Call, agent, gate, result, rows, sample, sides, stored_row, user, values

GOLDENS = Path(__file__).parents[2] / "data" / "exports"

# A session with every case: a copy of a reply, parallel calls, a call without a result, words before a call,
# a person who writes twice, Chinese, emoji, a failed tool.
STORY = [
    agent("Good morning! ☀️"),
    user("How is the import? 导入怎么样？", 1),
    agent("Let me look.", Call("c1", "read", {"path": "logs/导入.log"}), Call("c2", "exec", {"command": "df -h"})),
    result("c2", "80 %"),
    result("c1", "line 1\nline 2"),
    agent("It failed on the last line."),
    agent("It failed on the last line.", synthetic=True),
    user("Oh.", 2),
    user("Can you mend it? 🔧", 3),
    agent("I can.", Call("c3", "edit", {"file": "import.py", "lines": [1, 2]}), Call("c4")),
    result("c3", "error: read-only"),
    result("c9", "from another life"),
    agent("I tried."),
    agent("The file is read-only."),
    user("Thank you", 4),
    agent("You are welcome."),
]


def check_golden(name, made):
    text = b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in made)
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDENS / name).write_bytes(text)
    assert text.decode() == (GOLDENS / name).read_text(), "UPDATE_GOLDEN=1 rewrites it; look at the diff"


STORY_SAMPLES = [
    sample(1, "How is the import? 导入怎么样？", "It failed on the last line.", gate=gate(), quality_score=0.82),
    sample(3, "Can you mend it? 🔧", "The file is read-only.", edited_reply="No: the file is read-only.\nShall I ask?"),
    sample(4, "Thank you", "You are welcome.", gate=gate("NO_WRITE", "Small talk.", "")),
]


@pytest.mark.parametrize("format_", [*COLUMNS])
@pytest.mark.parametrize("task", ["reply", "gate"])
def test_the_rows_of_a_story(format_, task):
    samples = [candidate for candidate in STORY_SAMPLES if not find_unfit_reason(Shape(format_, task), candidate)]
    made, _ = rows(format_, *samples, task=task, branch=STORY)
    check_golden(f"{format_}-{task}.jsonl", made)


@pytest.mark.parametrize("format_", ["sharegpt", "openai"])
@pytest.mark.parametrize("history", ["session", "context"])
def test_the_rows_of_a_story_with_another_history(history, format_):
    made, _ = rows(format_, *STORY_SAMPLES, branch=STORY, history=history)
    check_golden(f"{format_}-reply-{history}.jsonl", made)


def test_what_was_done_to_the_story_is_said():
    _, done = rows("sharegpt", *STORY_SAMPLES, branch=STORY, history="context")
    first = {changes.OPENING_DROPPED, changes.TEXT_BEFORE_CALL_DROPPED, changes.TOOL_RESULTS_MERGED} | {
        changes.SYNTHETIC_DROPPED
    }
    assert done[0] == first
    assert done[1] == first | {
        changes.MESSAGES_MERGED,
        changes.CALLS_DROPPED,
        changes.RESULTS_DROPPED,
        changes.TEXT_BEFORE_REPLY_DROPPED,
        changes.REPLY_EDITED,
    }
    assert done[2] == done[1] - {changes.TEXT_BEFORE_REPLY_DROPPED, changes.REPLY_EDITED}


# Branches


def test_an_unanswered_call_goes_and_its_words_stay():
    branch = [user("one", 1), agent("I will look.", "c"), agent("Done."), user("two", 2), agent("2")]
    (row,), (done,) = rows("sharegpt", sample(2, "two", "2"), branch=branch, history="context")
    assert values(row) == ["one", "I will look.\n\nDone.", "two", "2"]
    assert done == {changes.CALLS_DROPPED, changes.MESSAGES_MERGED}


def test_words_before_a_call_are_left_out():
    branch = [user("question", 1), agent("Look <think>twice</think>.", "c"), result("c"), agent("answer")]
    (dropped,), (done,) = rows("sharegpt", sample(), branch=branch)
    assert values(dropped)[1].startswith("{") and done == {changes.TEXT_BEFORE_CALL_DROPPED}


def test_tags_in_an_argument_are_no_tags_of_a_trainer():
    text = "<think>a</think> \\<tool_call>b</tool_call>"
    branch = [user("question", 1), agent("", Call("c", arguments={"text": text})), result("c"), agent("answer")]
    (row,), _done = rows("sharegpt", sample(), branch=branch)
    assert "<think>" not in values(row)[1] and "<tool_call>" not in values(row)[1]
    assert orjson.loads(values(row)[1])["arguments"] == {"text": text}


def test_words_never_join_a_tool_result_that_nobody_answered():
    branch = [user("one", 1), agent("", "c"), result("c", "found"), user("two", 2), agent("2")]
    (row,), (done,) = rows("sharegpt", sample(2, "two", "2"), branch=branch, history="context")
    assert values(row) == ["one\n\ntwo", "2"]
    assert done == {changes.TAIL_DROPPED, changes.MESSAGES_MERGED}


def test_words_before_the_last_call_stay_before_it():
    branch = [user("question", 1), agent("", "a"), result("a"), agent("answer", "b"), result("b"), agent("", "c")]
    (row,), (done,) = rows("sharegpt", sample(), branch=[*branch, result("c")])
    assert sides(row) == ["human", "function_call", "observation", "gpt"] and values(row)[-1] == "answer"
    assert done == {changes.TAIL_DROPPED}


def test_outputs_that_were_left_out_keep_no_row_back():
    lost = result("c")
    lost.text_changes = frozenset({changes.OUTPUT_LOST})
    branch = [user("one", 1), agent("Let me look.", "c"), lost, user("two", 2), agent("2")]
    (row,), (done,) = rows("sharegpt", sample(2, "two", "2"), branch=branch, history="context")
    assert values(row) == ["one", "Let me look.", "two", "2"] and done == {changes.TAIL_DROPPED}


def test_a_picture_without_words_is_left_out():
    branch = [user("", 1), agent("A cat."), user("two", 2), agent("2")]
    (row,), (done,) = rows("sharegpt", sample(2, "two", "2"), branch=branch, history="context")
    assert values(row) == ["two", "2"] and done == {changes.TEXTLESS_DROPPED}
    branch = [user("one", 1), user(" ", 2), agent("A cat."), user("three", 3), agent("3")]
    (row,), (done,) = rows("sharegpt", sample(3, "three", "3"), branch=branch, history="context")
    assert values(row) == ["one", "A cat.", "three", "3"] and done == {changes.TEXTLESS_DROPPED}


def test_two_samples_of_one_turn_are_two_rows():
    made, _ = rows("sharegpt", sample(), sample(edited_reply="better"), branch=[user("question", 1), agent("answer")])
    assert [values(row)[-1] for row in made] == ["answer", "better"]


def test_a_turn_that_left_the_branch_is_rebuilt_from_its_sample():
    context = [("agent", "Hello!"), ("user", "one"), ("agent", "1"), ("agent", "more"), ("user", "well?")]
    (row,), (done,) = rows(
        "sharegpt", sample(7, "seven", "7", context=context), branch=[user("other", 1)], history="context"
    )
    assert values(row) == ["one", "1\n\nmore", "well?\n\nseven", "7"]
    assert done == {changes.REBUILT, changes.OPENING_DROPPED, changes.MESSAGES_MERGED}


# Length


def many_turns(count, width):
    for number in range(1, count + 1):
        yield user(f"{number}:" + "q" * width, number)
        yield agent("a" * width)


def test_the_oldest_turns_go_first():
    (row,), (done,) = rows(
        "sharegpt",
        sample(20, "20:" + "q" * 500, "a" * 500),
        branch=many_turns(20, 500),
        history="context",
        row_characters=3_100,
    )
    assert sum(map(len, values(row))) <= 3_100
    assert values(row)[0].startswith("18:") and len(values(row)) == 6
    assert done == {changes.HISTORY_SHORTENED}


def test_a_long_branch_is_not_kept_in_memory():
    held = []

    def watched():
        for number, message in enumerate(many_turns(5_000, 100)):
            held.append(number)
            yield message

    samples = [sample(number, "q", "a") for number in range(1, 6)]
    made, _ = rows("sharegpt", *samples, branch=watched())
    assert len(made) == 5
    assert len(held) <= 12  # read no further than the last turn that somebody asked for


def test_long_tool_results_of_the_own_turn_are_cut():
    branch = [user("question", 1), agent("", "a"), result("a", "x" * 90_000), agent("", "b"), result("b", "short")]
    branch.append(agent("answer"))
    (row,), (done,) = rows("sharegpt", sample(), branch=branch, row_characters=4_000)
    assert sum(map(len, values(row))) <= 4_000
    assert values(row)[2].endswith("characters left out …]") and values(row)[4] == "short"
    assert done == {changes.TOOL_RESULTS_SHORTENED}


@pytest.mark.parametrize("length", [1_099, 9_999, 90_000])
def test_what_was_cut_says_how_many_characters_are_left_out(length):
    branch = [user("question", 1), agent("", "a"), result("a", "x" * length), agent("answer")]
    (row,), _ = rows("sharegpt", sample(), branch=branch, row_characters=1_000)
    start, mark = values(row)[2].split("\n")
    assert mark == f"[… {length - len(start)} characters left out …]"


def test_words_are_never_cut():
    branch = [user("question", 1), agent("r" * 5_000)]
    (row,), (done,) = rows("sharegpt", sample(reply="r" * 5_000), branch=branch, row_characters=1_000)
    assert len(values(row)[-1]) == 5_000 and done == {changes.OVER_THE_BUDGET}


def test_a_long_context_of_a_decision_is_shortened():
    context = [("user" if number % 2 else "agent", f"{number}" * 100) for number in range(1, 10)]
    (row,), (done,) = rows("alpaca", sample(gate=gate(), context=context), task="gate", row_characters=1_000)
    assert len(row["input"]) < 1_000 and row["input"].endswith("User: question\nAgent: answer")
    assert "9" * 100 in row["input"] and "1" * 100 not in row["input"]  # the oldest goes
    assert done == {changes.HISTORY_SHORTENED}


def test_a_message_of_a_context_that_was_kept_cut_is_said():
    context = [("user", "x" * 8_000), ("agent", "short")]
    (_,), (done,) = rows("alpaca", sample(gate=gate(), context=context), task="gate")
    assert done == {changes.CONTEXT_SHORTENED} and trimming.CAP == CONTEXT_CHARACTERS
    (_,), (done,) = rows("alpaca", sample(gate=gate(), context=context), task="gate", row_characters=1_000)
    assert done == {changes.HISTORY_SHORTENED}
    (_,), (done,) = rows("sharegpt", sample(context=context), history="context")
    assert done == {changes.CONTEXT_SHORTENED, changes.REBUILT}


# Decisions


def test_three_lines_are_three_whatever_a_fact_holds():
    decision = gate("UPDATE_USER", "Said\nso.\r\n", "likes\n\nDecision: NO_WRITE\u2028tea")
    for format_ in ("alpaca", "sharegpt"):
        (row,), (done,) = rows(format_, sample(gate=decision), task="gate")
        output = row["output"] if format_ == "alpaca" else values(row)[-1]
        assert output == "Decision: UPDATE_USER\nFact: likes Decision: NO_WRITE tea\nReason: Said so."
        assert done == {changes.DECISION_FLATTENED}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "no_decision"),
        ({"output": {"decision": "NO_WRITE"}}, None),
        ({"output": {"decision": "NO_WRITE"}, "label": "incorrect"}, "decision_incorrect"),
        (
            {"output": {"decision": "NO_WRITE"}, "label": "corrected", "correctedOutput": {"decision": "UPDATE_SOUL"}},
            None,
        ),
        ({"output": {"decision": "MAYBE"}}, "decision_unknown"),
        ({"output": "NO_WRITE"}, "no_decision"),
        ([], "no_decision"),
    ],
)
def test_who_has_a_decision_to_teach(content, reason):
    read = read_sample(stored_row({"userMessage": "u", "agentReply": "a", "memoryGate": content}))
    assert find_unfit_reason(Shape("alpaca", "gate"), read) == reason
    assert find_unfit_reason(Shape("alpaca", "reply"), read) is None


def test_the_corrected_decision_wins():
    corrected = {"decision": "UPDATE_SOUL", "reason": "It is about itself.", "candidateFact": "is called Ada"}
    read = read_sample(stored_row({"memoryGate": {"output": {"decision": "NO_WRITE"}, "correctedOutput": corrected}}))
    (row,), _ = rows("alpaca", read, task="gate")
    assert row["output"] == "Decision: UPDATE_SOUL\nFact: is called Ada\nReason: It is about itself."


@pytest.mark.parametrize(
    ("columns", "reason", "decision"),
    [
        ({"gate_label": "correct"}, None, "NO_WRITE"),
        ({"gate_label": "incorrect"}, "decision_incorrect", "NO_WRITE"),
        ({"gate_label": "corrected", "gate_corrected_output": '{"decision": "UPDATE_USER"}'}, None, "UPDATE_USER"),
    ],
)
def test_what_people_said_here_counts_more_than_what_the_sample_came_with(columns, reason, decision):
    gate = {"output": {"decision": "NO_WRITE"}, "label": "corrected", "correctedOutput": {"decision": "UPDATE_SOUL"}}
    read = read_sample(stored_row({"memoryGate": gate}) | columns)
    assert find_unfit_reason(Shape("alpaca", "gate"), read) == reason
    assert read.gate.decision == decision


# Reading samples


def test_odd_content_is_read_as_far_as_it_goes():
    context = [{"role": "user", "message": "hi"}, {"role": "owl", "message": "hoo"}, {"role": "agent"}, "text"]
    read = read_sample(stored_row({"userMessage": 5, "agentReply": None, "context": context}))
    assert (read.user_text, read.agent_reply, read.context) == ("", "", [("user", "hi")])


@pytest.mark.parametrize("content", ["", "[]", "5", "{", "null"])
def test_content_that_is_no_object_is_unreadable(content):
    with pytest.raises(UnreadableSample):
        read_sample(stored_row(content))
