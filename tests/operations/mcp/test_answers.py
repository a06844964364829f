"""Answers of tools fit into their number of characters, whatever they hold."""

import json

from hypothesis import given
from hypothesis import strategies as st

from operations.mcp.answers import MOST_CHARACTERS, format_answer

LONG_TEXTS = st.builds(lambda text, times: text * times, st.text(max_size=40), st.sampled_from((1, 300, 4_000)))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), LONG_TEXTS),
    lambda inner: st.one_of(
        st.builds(lambda values, times: values * times, st.lists(inner, max_size=4), st.sampled_from((1, 90))),
        st.dictionaries(st.text(max_size=600), inner, max_size=50),
    ),
    max_leaves=20,
)


@given(answer=st.dictionaries(st.text(max_size=20), VALUES, max_size=20))
def test_an_answer_fits_and_is_json(answer):
    text = format_answer(answer | {"pages": {"session": "/agents/ada/"}})
    assert len(text) <= MOST_CHARACTERS
    assert json.loads(text)["pages"] == {"session": "/agents/ada/"}


def test_a_short_answer_is_whole():
    answer = {"pages": {}, "items": [{"id": "x", "text": "a" * 15_000, "none": None, "no": False, "zero": 0}]}
    expected = {"items": [{"id": "x", "text": "a" * 15_000, "no": False, "zero": 0}]}
    assert json.loads(format_answer(answer)) == expected


def test_a_long_answer_says_that_it_was_cut():
    cut = json.loads(format_answer({"items": [{"text": "a" * 9_000}] * 30}))
    assert cut["cut"].startswith("texts end after 400 characters") and len(cut["items"]) == 20
    assert cut["items"][0]["text"] == "a" * 400 + "…"
