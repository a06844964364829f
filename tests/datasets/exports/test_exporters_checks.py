"""Rules of trainers: characters, the shape of rows, columns of dates, and splits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.dedup.planner import fill_sides
from datasets.exports import changes
from datasets.exports.dialects import SHAREGPT
from datasets.exports.exchanges import Conversation, Exchange
from datasets.exports.files import PIECE, DateColumns
from datasets.exports.formats import COLUMNS
from datasets.exports.rules import find_broken_rules
from datasets.sample_texts import read_sample
from tests.datasets.exports.branches import Call, agent, result, rows, sample, stored_row, user, values

# Trainers give these names a meaning of their own; a column of ours by such a name would change or stop a training.
RESERVED = frozenset(
    [
        "text",
        "messages",
        "prompt",
        "completion",
        "chosen",
        "rejected",
        "label",
        "tools",
        "system",
        "images",
        "input_ids",
        "labels",
    ]
) | {"chat_template_kwargs"}

# Characters


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
def test_half_a_surrogate_pair_and_nuls_are_replaced(format_):
    read = read_sample(stored_row('{"userMessage": "a\\ud83d", "agentReply": "b\\u0000"}', id="c\x00"))
    (row,), (done,) = rows(format_, read)
    texts = [row["instruction"], row["output"]] if format_ == "alpaca" else values(row)
    assert texts == ["a\ufffd", "b\ufffd"] and row["sample_id"] == "c\ufffd"
    assert changes.CHARACTERS_REPLACED in done


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
def test_words_about_escapes_are_left_alone(format_):
    text = "write \\u0000 for NUL; 😀 is \\ud83d\\ude00"
    (row,), (done,) = rows(format_, sample(reply=text))
    assert (row["output"] if format_ == "alpaca" else values(row)[-1]) == text
    assert changes.CHARACTERS_REPLACED not in done


def test_arguments_with_odd_characters_and_numbers_are_written():
    call = Call("c", "exec", {"half": "\ud83d", "big": 2**70})
    (row,), _ = rows("sharegpt", sample(), branch=[user("question", 1), agent("", call), result("c"), agent("answer")])
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
    assert [broken.rule for broken in find_broken_rules("sharegpt", row)][:1] == [rule]


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
    assert [broken.rule for broken in find_broken_rules("alpaca", {**row, **change})] == [rule]


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
        ({"conversations": [1, 2]}, "message_keys"),
        ({"conversations": [{"from": ["human"], "value": "u"}, {"from": "gpt", "value": "a"}]}, "message_keys"),
        ({"conversations": [{"from": "human", "value": 1}, {"from": "gpt", "value": "a"}]}, "message_keys"),
    ],
)
def test_sharegpt_rows_that_trainers_misread(change, rule):
    (row,), _ = rows("sharegpt", sample())
    assert [broken.rule for broken in find_broken_rules("sharegpt", {**row, **change})] == [rule]


def test_no_column_has_a_name_that_trainers_take():
    meant = {"alpaca": set(), "sharegpt": {"system", "tools"}, "openai": {"messages"}}
    meant |= {"sharegpt_reflection": {"system", "tools"}, "openai_preference": set()}
    meant |= {"messages": {"messages", "tools"}, "parquet": {"messages", "tools"}}
    meant["preference"] = {"prompt", "chosen", "rejected", "tools"}
    meant["llamafactory_preference"] = {"chosen", "rejected", "system", "tools"}
    meant["kto"] = {"prompt", "completion", "label", "tools"}
    assert {kind: RESERVED & set(columns) for kind, columns in COLUMNS.items()} == meant


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
        watch.add_row({"output": text}, 100)
    watch.end()
    assert watch.date_columns == ({"output"} if is_date else set())


def test_a_piece_of_ten_mebibytes_counts_for_itself():
    watch = DateColumns(("output",))
    watch.add_row({"output": "words"}, PIECE + 1)
    watch.add_row({"output": "2026-01-31"}, 100)
    watch.end()
    assert watch.date_columns == {"output"}


def test_conversations_of_nothing_but_dates_are_noticed():
    watch = DateColumns(("conversations", "system"))
    dates = [{"from": "human", "value": "2026-01-31"}, {"from": "gpt", "value": "2026-02-01"}]
    watch.add_row({"conversations": Conversation([Exchange(dates, (), SHAREGPT)]), "system": ""}, 100)
    watch.end()
    assert watch.date_columns == {"conversations"}


# Splits


SETS = st.lists(st.integers(1, 50), max_size=30)
SHARES = st.sampled_from(
    [(0.8, 0, 0.2), (1, 0, 0), (0, 0, 1.0), (0.8, 0.1, 0.1), (0, 1, 0), (0.7, 0.3, 0), (0.1, 0.9 - 1e-12, 1e-12)]
)


@given(weights=SETS, shares=SHARES)
def test_sides_are_filled_by_their_shares(weights, shares):
    sides = fill_sides(weights, shares)
    backwards = list(sides) != sorted(sides)
    if backwards:
        assert 2 * max(weights) > sum(weights)
        weights, sides = weights[::-1], sides[::-1]
    assert list(sides) == sorted(sides) and len(sides) == len(weights)
    used = {side for side, share in enumerate(shares) if share > 1e-6}
    assert set(sides) <= used and len(set(sides)) == min(len(weights), len(used))
    total, share = sum(weights), 0.0
    for side in sorted(used)[:-1]:  # no other end of a side is nearer to its share, but for sides that were empty
        share += shares[side]
        end = sum(weight for weight, on in zip(weights, sides, strict=True) if on <= side)
        alone = [sides.count(on) == 1 for on in (side, side + 1) if on in sides]
        missed = abs(end - share * total)
        others = (sum(weights[:count]) for count in range(1, len(weights)))
        assert any(alone) or all(missed <= abs(other - share * total) + 1e-6 for other in others)


@pytest.mark.parametrize(
    ("weights", "sides"),
    [
        ((49, 1), [0, 2]),
        ((1, 49), [2, 0]),
        ((49,), [0]),
        ((), []),
        ((40, 5, 4), [0, 2, 2]),
        ((5, 4, 40), [2, 2, 0]),
        ((1, 1), [0, 2]),
    ],
)
def test_no_side_is_empty_where_there_are_sets_for_it(weights, sides):
    assert list(fill_sides(weights, (0.8, 0, 0.2))) == sides
