"""NFKC in linear time: the same as Python's, but for marks that no language has."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_web.normal_forms import JOINER, MOST_MARKS, WIDE_MARKS, to_nfkc

MIXED = "\u0301\u0327"  # of two classes, so that they have to be sorted


@given(st.text())
def test_ordinary_texts_are_in_nfkc(text):
    assert to_nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("letter", ["a", "か", "", "中"])
@pytest.mark.parametrize("marks", [MIXED, "\uff9e\u0301", "\u0344\u0327", "\U0001d165\u0301"])
def test_no_more_than_thirty_marks_are_sorted_together(letter, marks):
    runs = "".join(" " if unicodedata.combining(sign) == 0 else "m" for sign in to_nfkc(letter + marks * 500)).split()
    assert max(map(len, runs)) <= 2 * MOST_MARKS


def test_emoji_and_punctuation_in_a_row_stay_as_they_are():
    text = "—" * 100 + "🙂" * 100 + "a" + MIXED * 10
    assert JOINER not in to_nfkc(text)
    assert to_nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.nightly
def test_each_character_that_is_a_mark_in_nfkc_is_counted_as_one():
    every = (chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000)
    marks = [sign for sign in every if unicodedata.combining(unicodedata.normalize("NFKD", sign)[0])]
    assert len(marks) > 900
    assert all(JOINER in to_nfkc(sign * (MOST_MARKS + 1)) for sign in marks)
    assert [sign for sign in marks if unicodedata.category(sign)[0] != "M"] == list(WIDE_MARKS)
