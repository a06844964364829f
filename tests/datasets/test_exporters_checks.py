"""What trainers insist on: characters, the shape of rows, columns of dates, whole sessions on one side."""

import orjson
import pytest

from datasets.exporters.checks import broken_rules, reserved_columns
from datasets.exporters.cleaning import Lines
from datasets.exporters.dates import PIECE, DateColumns
from datasets.exporters.samples import read_sample
from datasets.splits import side
from tests.datasets.branches import Call, agent, result, rows, sample, stored, user, values

# Characters


def test_half_a_surrogate_pair_and_nuls_are_replaced():
    found = read_sample(stored('{"userMessage": "a\\ud83d", "agentReply": "b\\u0000"}'))
    (row,), _ = rows("alpaca", found)
    line, cleaned, is_cleaned = Lines().line(row)
    assert (cleaned["instruction"], cleaned["output"], is_cleaned) == ("a�", "b�", True)
    assert orjson.loads(line) == cleaned


def test_words_about_escapes_are_left_alone():
    (row,), _ = rows("alpaca", sample(reply="write \\u0000 for NUL; 😀 is \\ud83d\\ude00"))
    line, same, is_cleaned = Lines().line(row)
    assert same == row and not is_cleaned
    assert orjson.loads(line) == row


def test_arguments_with_odd_characters_and_numbers_are_written():
    call = Call("c", "exec", {"half": "\ud83d", "big": 2**70})
    (row,), _ = rows("sharegpt", sample(), branch=[user("question", 1), agent("", call), result("c")])
    assert "half" in values(row)[1]


# Rules of trainers


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        ([], "odd_count"),
        ([("human", "u")], "odd_count"),
        ([("gpt", "a"), ("human", "u")], "alternation"),
        ([("human", "u"), ("human", "u")], "alternation"),
        ([("human", "u"), ("assistant", "a")], "alternation"),
        ([("observation", "o"), ("gpt", "a")], "alternation"),
        ([("human", " "), ("gpt", "a")], "empty"),
        ([("human", "u"), ("gpt", "")], "empty"),
        ([("human", "u"), ("function_call", '{"name": "x", "arguments": {}}')], "no_reply"),
        ([("human", "u"), ("function_call", "x"), ("observation", ""), ("gpt", "a")], "call"),
        ([("human", "u"), ("function_call", "[]"), ("observation", ""), ("gpt", "a")], "call"),
        ([("human", "u"), ("function_call", '{"name": "x"}'), ("observation", ""), ("gpt", "a")], "call"),
        (
            [("human", "u"), ("function_call", '{"name": "x", "arguments": "{}"}'), ("observation", ""), ("gpt", "a")],
            "call",
        ),
        (
            [("human", "u"), ("function_call", '{"name": "x", "arguments": {}}'), ("human", "u"), ("gpt", "a")],
            "call_without_result",
        ),
        ([("human", "u"), ("gpt", "a"), ("observation", "o"), ("gpt", "a")], "result_without_call"),
    ],
)
def test_conversations_that_trainers_drop(messages, rule):
    (row,), _ = rows("sharegpt", sample())
    row["conversations"] = [{"from": role, "value": value} for role, value in messages]
    assert [broken.rule for broken in broken_rules("sharegpt", row)][:1] == [rule]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"instruction": " \n"}, "empty"),
        ({"output": ""}, "empty"),
        ({"input": None}, "not_text"),
        ({"turn_number": 1}, "not_text"),
        ({"label": "x"}, "columns"),
    ],
)
def test_alpaca_rows_that_trainers_misread(change, rule):
    (row,), _ = rows("alpaca", sample())
    assert [broken.rule for broken in broken_rules("alpaca", {**row, **change})] == [rule]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"tools": "none"}, "tools"),
        ({"tools": "{}"}, "tools"),
        ({"system": None}, "not_text"),
        (
            {"conversations": [{"from": "human", "value": "u", "weight": 1}, {"from": "gpt", "value": "a"}]},
            "message_keys",
        ),
        ({"conversations": [{"value": "u", "from": "human"}, {"from": "gpt", "value": "a"}]}, "message_keys"),
        ({"conversations": "text"}, "odd_count"),
    ],
)
def test_sharegpt_rows_that_trainers_misread(change, rule):
    (row,), _ = rows("sharegpt", sample())
    assert [broken.rule for broken in broken_rules("sharegpt", {**row, **change})] == [rule]


def test_no_column_has_a_name_that_trainers_take():
    assert reserved_columns("alpaca") == reserved_columns("sharegpt") == []


# Dates


@pytest.mark.parametrize(
    ("texts", "is_date"),
    [
        (["2026-01-31"], True),
        (["2026-01-31", "2026-02-01T10:00:00Z", "2026-02-01 10:00"], True),
        (["2026-01-31", "in May"], False),
        (["2026-01-31", ""], False),
        (["20260131"], False),
        (["on 2026-01-31"], False),
    ],
)
def test_a_column_of_dates_is_noticed(texts, is_date):
    watch = DateColumns(("output",))
    for text in texts:
        watch.see({"output": text}, 100)
    watch.end()
    assert watch.found == ({"output"} if is_date else set())


def test_a_piece_of_ten_mebibytes_counts_for_itself():
    watch = DateColumns(("output",))
    watch.see({"output": "words"}, PIECE + 1)
    watch.see({"output": "2026-01-31"}, 100)
    watch.end()
    assert watch.found == {"output"}


def test_conversations_of_nothing_but_dates_are_noticed():
    watch = DateColumns(("conversations", "system"))
    watch.see({"conversations": [{"from": "human", "value": "2026-01-31"}], "system": ""}, 100)
    watch.end()
    assert watch.found == {"conversations"}


# Splits


def test_a_session_is_always_on_the_same_side():
    assert side("ada", "s1", seed="0", train_share=0.8) == side("ada", "s1", seed="0", train_share=0.8)
    assert {side("ada", f"s{n}", seed="0", train_share=1) for n in range(50)} == {"train"}
    assert {side("ada", f"s{n}", seed="0", train_share=0) for n in range(50)} == {"test"}


def test_the_share_is_about_what_was_asked_for_and_seeds_differ():
    first = [side("ada", f"s{n}", seed="0", train_share=0.8) for n in range(2_000)]
    other = [side("ada", f"s{n}", seed="1", train_share=0.8) for n in range(2_000)]
    assert 0.77 < first.count("train") / 2_000 < 0.83
    assert first != other


def test_names_do_not_run_into_each_other():
    pairs = {
        side("a", f"b{n}", seed="0", train_share=0.5) == side("ab", f"{n}", seed="0", train_share=0.5)
        for n in range(99)
    }
    assert pairs == {True, False}
