"""Costs and lengths: an unknown figure is never 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_web.llm.prices import cost, estimate_tokens

PRICES = {"small": (0.5, 2.0), "free": (0, 0), "half known": (0.5, None)}


def test_it_works():
    assert cost(PRICES, "small", 1_000_000, 500_000) == 1.5
    assert cost(PRICES, "small", 0, 0) == 0
    assert cost(PRICES, "free", 7, 7) == 0


@pytest.mark.parametrize(
    ("model", "prompt", "completion"),
    [("large", 1, 1), ("Small", 1, 1), ("", 0, 0), ("small", None, 1), ("small", 1, None), ("half known", 1, 1)],
)
def test_what_is_not_known_costs_an_unknown_sum(model, prompt, completion):
    assert cost(PRICES, model, prompt, completion) is None
    assert cost({}, model, prompt, completion) is None


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("你好", 2), ("你好!", 3), ("ä" * 8, 8), ("😀", 1)],
)
def test_lengths(text, tokens):
    assert estimate_tokens(text) == tokens


@given(first=st.text(), second=st.text())
def test_a_length_never_shrinks(first, second):
    together = estimate_tokens(first + second)
    assert max(estimate_tokens(first), estimate_tokens(second)) <= together
    assert together <= estimate_tokens(first) + estimate_tokens(second) <= together + 1
