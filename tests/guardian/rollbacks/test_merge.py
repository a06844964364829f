"""Reverting a write in a file that changed since: the earlier bytes, or a conflict."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.rollbacks.merge import find_hunks, put_in, take_out
from guardian.services import bytes_to_text, text_to_bytes

LINES = st.lists(st.sampled_from(["tea\n", "coffee\n", "milk\r\n", "\n", "no end", "é\n", "\udcff\n"]), max_size=12)
texts = LINES.map("".join)
WHOLE = st.lists(st.sampled_from(["tea\n", "coffee\n", "milk\n"]), max_size=6).map("".join)


@given(st.binary(max_size=200))
def test_no_byte_is_lost(data):
    assert text_to_bytes(bytes_to_text(data)) == data


@given(texts, texts)
def test_without_later_changes_the_file_is_as_it_was(before, after):
    merged = take_out(before, after, after)
    assert merged.text == before and merged.is_whole


@given(texts, texts)
def test_what_was_taken_out_already_is_done(before, after):
    merged = take_out(before, after, before)
    assert merged.text == before and merged.is_whole
    assert len(merged.done) == len(find_hunks(before, after))


@given(texts, texts, texts)
def test_a_change_elsewhere_stays(before, after, more):
    merged = take_out(f"{before}=\n=\n", f"{after}=\n=\n", f"{after}=\n=\n{more}")
    assert merged.is_whole and merged.text == f"{before}=\n=\n{more}"


@given(texts, texts, texts)
def test_a_conflict_leaves_what_the_file_holds(before, after, current):
    merged = take_out(before, after, current)
    hunks = find_hunks(before, after)
    numbers = [*merged.taken_out, *merged.done, *(conflict.hunk for conflict in merged.conflicts)]
    assert sorted(numbers) == list(range(len(hunks)))
    if not merged.taken_out:
        assert merged.text == current
    for conflict in merged.conflicts:
        assert "".join(conflict.current) in current and "".join(conflict.after) in after


@given(st.lists(texts, min_size=2, max_size=6), st.data())
def test_writes_taken_out_in_any_order_restore_the_first_text_or_say_why_not(states, data):
    writes = list(pairwise(states))
    current, problem_count = states[-1], 0
    for number in data.draw(st.permutations(range(len(writes)))):
        merged = take_out(*writes[number], current)
        problem_count += len(merged.conflicts) + len(merged.done)  # some return with a later rollback
        if merged.is_whole:
            current = merged.text
    assert problem_count or current == states[0]


@pytest.mark.parametrize(
    ("current", "text", "conflicts"),
    [
        ("a\nB\nc\nD\ne\nF\n", "a\nb\nc\nd\ne\nF\n", []),  # somebody added elsewhere
        ("x\na\nB\nc\nD\ne\n", "x\na\nb\nc\nd\ne\n", []),
        ("a\nB\nx\nc\nD\ne\n", "a\nb\nx\nc\nd\ne\n", []),  # next to it
        ("a\nBB\nc\nD\ne\n", "a\nBB\nc\nd\ne\n", [0]),
        ("a\nb\nc\nD\ne\n", "a\nb\nc\nd\ne\n", []),
        ("", "", [0, 1]),
    ],
)
def test_only_what_touches_is_a_conflict(current, text, conflicts):
    merged = take_out("a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\n", current)
    assert [conflict.hunk for conflict in merged.conflicts] == conflicts
    assert merged.text == text


def test_lines_that_were_appended_one_after_the_other_are_apart():
    merged = take_out("a\n", "a\nb\n", "a\nb\nc\nd\n")
    assert merged.text == "a\nc\nd\n" and merged.is_whole


def test_lines_that_come_back_where_others_were_added_are_a_conflict():
    merged = take_out("a\nb\nc\n", "a\nc\n", "a\nx\nc\n")
    assert [conflict.hunk for conflict in merged.conflicts] == [0] and merged.text == "a\nx\nc\n"


def test_one_hunk_alone():
    merged = take_out("a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\n", "a\nB\nc\nD\ne\n", only=[1])
    assert merged.text == "a\nB\nc\nd\ne\n" and merged.taken_out == [1]


def test_a_last_line_without_an_ending_never_runs_on_into_the_next():
    merged = take_out("a", "a\nb\n", "a\nb\nc\n")  # the write ended the last line, and another one added lines below
    assert [conflict.hunk for conflict in merged.conflicts] == [0] and merged.text == "a\nb\nc\n"
    assert take_out("x\na", "x\nb\n", "x\nmore\nb\n").text == "x\nmore\na"
    assert take_out("a", "b\n", "more\nb\n").text == "more\na"


@given(texts, texts)
def test_what_somebody_else_made_of_the_same_text_is_put_in(base, theirs):
    assert put_in(base, theirs, base) == theirs
    assert put_in(base, base, theirs) == theirs


@given(WHOLE, WHOLE)
def test_lines_that_somebody_else_added_to_the_end_have_a_place(base, current):
    """The file keeps all its lines, whatever became of the lines before them."""
    merged = put_in(base, f"{base}late\nlater\n", current)
    assert merged is not None and Counter(merged.splitlines()) == Counter([*current.splitlines(), "late", "later"])
    assert "late\nlater\n" in merged


def test_lines_that_were_changed_on_both_sides_are_not_put_in():
    assert put_in("a\nb\n", "a\nB\n", "a\n") is None
    assert put_in("a\nb\n", "a\nb\nlate\n", "a\n") == "a\nlate\n"
    assert put_in("a\nb\n", "a\nb\nlate", "a\nc") is None  # two lines without an end would run into one
