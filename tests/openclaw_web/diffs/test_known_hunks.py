"""Diffs built from known hunks, and both sides in one column."""

from hypothesis import given
from hypothesis import strategies as st

from openclaw_web.diffs import line_diff, unified_format

texts = st.none() | st.lists(st.sampled_from(["a\n", "b\n", "c d\n", "\n", "e"]), max_size=12).map("".join)
hunks = st.lists(st.tuples(*[st.integers(0, 9)] * 4), max_size=3)


def find_hunks(diff):
    return [
        (block.old_start, block.old_end, block.new_start, block.new_end) for block in diff.blocks if not block.is_same
    ]


@given(texts, texts)
def test_known_places_give_the_diff_that_comparing_gives(old, new):
    diff = line_diff.compare(old, new)
    assert line_diff.build_from_hunks(old, new, find_hunks(diff)) == diff


@given(texts, texts, hunks)
def test_whatever_is_said_the_lines_are_those_of_both_texts(old, new, known_hunks):
    diff = line_diff.build_from_hunks(old, new, known_hunks)
    same = [block for block in diff.blocks if block.is_same]
    assert all(diff.old_lines[a.old_start : a.old_end] == diff.new_lines[a.new_start : a.new_end] for a in same)
    for start, end, lines in (("old_start", "old_end", diff.old_lines), ("new_start", "new_end", diff.new_lines)):
        side_lines = [line for block in diff.blocks for line in lines[getattr(block, start) : getattr(block, end)]]
        assert side_lines == lines


@given(texts, texts)
def test_one_column_has_the_same_lines(old, new):
    view = line_diff.build_view(line_diff.compare(old, new))
    below = unified_format.to_one_column(view)
    assert unified_format.format_patch(below, "x") == unified_format.format_patch(view, "x")
    assert (below.hunk_count, below.left_out) == (view.hunk_count, view.left_out)
    rows = [row for section in below.sections for row in section.rows if row.is_changed]
    assert all(row.old is None or row.new is None for row in rows)


def test_lines_that_are_too_many_to_pair_are_said_to_be_coarse():
    old, new = ("".join(f"{word} {number}\n" for number in range(60)) for word in ("tea", "milk"))
    view = line_diff.build_view(line_diff.compare(old, new))
    assert view.is_coarse and not line_diff.compare(old, new).is_coarse
    unlike = line_diff.build_view(line_diff.compare(old, "".join(f"x{number}\n" for number in range(60))))
    assert not any(row.old.parts for section in unlike.sections for row in section.rows)
