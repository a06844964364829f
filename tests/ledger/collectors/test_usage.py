"""Tokens and cost of a call in every spelling; an unknown value is never 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.collectors.records import read_facts
from ledger.collectors.usage import MAX_AMOUNT, Usage, read_usage

NUMBERS = st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.integers(-5, 2 * MAX_AMOUNT), st.floats(-1, 1e13))
NAMES = ("input", "output", "cacheRead", "prompt_tokens", "completion_tokens", "totalTokens", "total_tokens", "cost")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input": 5, "output": 3, "cacheRead": 2, "cacheWrite": 1, "totalTokens": 11}, (5, 3, 2, 1, 11)),
        ({"inputTokens": 5, "outputTokens": 3}, (5, 3, 0, 0, 8)),
        ({"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}, (7, 1, 0, 0, 8)),
        ({"promptTokens": 7, "completionTokens": 1}, (7, 1, 0, 0, 8)),
        ({"input": 0, "output": 0, "prompt_tokens": 7, "completion_tokens": 1}, (7, 1, 0, 0, 8)),
        # Prompt tokens that include those from the cache.
        (
            {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}},
            (6, 1, 4, 0, 11),
        ),
        ({"input_tokens": 10, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 4}}, (6, 1, 4, 0, 11)),
        ({"prompt_tokens": 10, "total_tokens": 11, "completion_tokens": 1, "cached_tokens": 4}, (6, 1, 4, 0, 11)),
        # Prompt tokens without those from the cache.
        ({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 4}, (10, 1, 4, 0, 15)),
        ({"promptTokens": 10, "completionTokens": 1, "cacheRead": 4, "totalTokens": 15}, (10, 1, 4, 0, 15)),
        ({"input": True, "output": -1, "cacheRead": "2"}, (0, 0, 0, 0, 0)),
    ],
)
def test_tokens_are_understood_in_every_spelling(usage, expected):
    read = read_usage(usage)
    assert (read.input, read.output, read.cache_read, read.cache_write, read.total) == expected


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        ({"total": 0.25, "input": 9}, 0.25),
        (0.25, 0.25),
        ({"total": 5.4e-06}, 5.4e-06),
        ({"input": 0.125, "output": 0.25, "cacheRead": 0.125}, 0.5),
        ({"input": 0.125, "output": 0.25, "total": 0}, 0.375),
        ({"input": 0, "output": 0, "total": 0}, None),
        ({"total": 0}, None),
        ({"total": "0.3"}, None),
        ({"total": True}, None),
        ({"total": -1}, None),
        (0, None),
        (None, None),
        ({}, None),
    ],
)
def test_a_cost_is_known_or_not(cost, expected):
    assert read_usage({"input": 3, "output": 1, "cost": cost}).cost == expected


def test_nothing_costs_nothing():
    assert read_usage({"input": 0, "output": 0, "cost": {"total": 0}}) == Usage(cost=0.0)
    assert read_usage({}) == Usage()


@given(st.dictionaries(st.sampled_from(NAMES), st.one_of(NUMBERS, st.dictionaries(st.sampled_from(NAMES), NUMBERS))))
def test_odd_usage_is_read_without_an_error(usage):
    read = read_usage(usage)
    assert min(read.input, read.output, read.cache_read, read.cache_write, read.total) >= 0
    assert read.cost is None or read.cost > 0 or not read.total


USAGE = {"input": 100, "output": 20, "cost": {"total": 0.02}}


@pytest.mark.parametrize(
    "record",
    [
        {"type": "compaction", "summary": "so far", "usage": USAGE},
        {"type": "branch_summary", "summary": "so far", "usage": USAGE},
        {"type": "usage", "usage": USAGE, "model": "example-large"},
        {"type": "usage", "data": {"usage": USAGE}},
        {"type": "usage", "data": USAGE},
        {"type": "usage", **USAGE},
    ],
)
def test_calls_that_are_no_messages_have_usage(record):
    parsed = read_facts(record)
    assert (parsed.kind, parsed.usage) == (record["type"], Usage(100, 20, total=120, cost=0.02))


def test_other_records_have_none():
    assert read_facts({"type": "custom", "usage": USAGE}).usage is None
    assert read_facts({"type": "compaction", "usage": "much"}).usage is None
