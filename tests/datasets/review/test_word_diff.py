"""Word diffs: no part of either text is lost or invented."""

from itertools import pairwise

import pytest
from django.template.loader import get_template
from hypothesis import given
from hypothesis import strategies as st

from datasets.word_diff import compare_words

words = st.sampled_from(
    ["alpha", "beta ", "  ", "\n", "\n\n", "gamma", "**b**", "，", "好", "é", "\t", "<b>", "\u202e", ".", " "]
)
texts = st.one_of(st.lists(words, max_size=60).map("".join), st.text(max_size=80))


def word_changes(changes):
    return str(get_template("datasets/verdict.html").template.module.word_changes(changes))


def joined(changes, *kinds):
    return "".join(piece.text for piece in changes if piece.kind in kinds)


@given(texts, texts)
def test_kept_and_removed_is_the_old_text_kept_and_added_the_new(old, new):
    changes = compare_words(old, new)
    assert joined(changes, "kept", "removed") == old
    assert joined(changes, "kept", "added") == new
    assert all(piece.text for piece in changes)
    assert all(previous.kind != following.kind for previous, following in pairwise(changes))


@given(texts)
def test_a_text_that_did_not_change_is_kept(text):
    assert {piece.kind for piece in compare_words(text, text)} <= {"kept"}


@given(texts, texts)
def test_what_is_drawn_is_escaped(old, new):
    drawn = word_changes(compare_words(old, new))
    assert "<b>" not in drawn
    assert "\u202e" not in drawn


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("It was bad.", "It was good.", [("kept", "It was "), ("removed", "bad"), ("added", "good"), ("kept", ".")]),
        ("", "new", [("added", "new")]),
        ("gone", "", [("removed", "gone")]),
        ("one\ntwo\nthree", "one\n2\nthree",
         [("kept", "one\n"), ("removed", "two"), ("added", "2"), ("kept", "\nthree")]),
        ("面包很硬", "面包很软", [("kept", "面包很"), ("removed", "硬"), ("added", "软")]),
    ],
)  # fmt: skip
def test_words(old, new, expected):
    assert [(piece.kind, piece.text) for piece in compare_words(old, new)] == expected


@pytest.mark.parametrize("old", ["a b " * 15_000, "word\n" * 12_000, "x" * 60_000, "**`[" * 15_000])
def test_long_texts_that_have_nothing_but_the_same_words(old):
    """Comparing every word with every other one would take minutes here."""
    new = old[:30_000] + "changed " + old[30_020:].replace("b", "c", 40)
    changes = compare_words(old, new)
    assert joined(changes, "kept", "removed") == old
    assert joined(changes, "kept", "added") == new


def test_long_runs_that_were_kept_are_folded_away():
    drawn = word_changes(compare_words("a " * 5000 + "end", "a " * 5000 + "End"))
    assert len(drawn) < 1000
    assert drawn.endswith("<del>end</del><ins>End</ins>")
