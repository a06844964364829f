"""Diffs of two texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_web.diffs import line_diff, unified_format, word_marks
from tests.openclaw_web.templates.test_templates import draw
from tests.suite.nightly import first

LINES = st.lists(st.sampled_from(["", "a", "b", "a b c", "the quick fox", "the slow fox", "早上好", "\r", "x\x00y"]))
TEXTS = st.one_of(LINES.map("\n".join), LINES.map("\r\n".join), st.text(), st.text(alphabet="ab \n"))


def rebuild_texts(diff):
    """Returns both texts of a diff, joined from its lines."""
    rows = list(diff.rows())
    return ["".join(line.text for line in side if line) for side in zip(*((r.old, r.new) for r in rows), strict=True)]


def draw_view(view, diff, prefix=""):
    return draw("{{ ui.diff(view, diff, prefix=prefix) }}", view=view, diff=diff, prefix=prefix)


def draw_diff(old, new):
    diff = line_diff.compare(old, new)
    return draw_view(line_diff.build_view(diff), diff)


def apply_patch(old, patch):
    """Applies a unified diff to a text, as `patch` does."""
    before, after, at = line_diff.split_lines(old), [], 0
    lines = patch.split("\n")[2:-1]
    for place, line in enumerate(lines):
        ending = "" if lines[place + 1 : place + 2] == ["\\ No newline at end of file"] else "\n"
        if line.startswith("@@"):
            start, count = line.split()[1][1:].split(",")
            upto = int(start) - (count != "0")
            after, at = after + before[at:upto], upto
        elif line[:1] == "+":
            after.append(line[1:] + ending)
        elif line[:1] in (" ", "-"):
            assert before[at] == line[1:] + ending
            after += [before[at]] if line[0] == " " else []
            at += 1
    return "".join(after + before[at:])


@given(TEXTS, TEXTS)
def test_the_lines_of_a_diff_are_both_texts(old, new):
    diff = line_diff.compare(old, new)
    assert (rebuild_texts(diff) or ["", ""]) == [old, new]
    for side in ("old", "new"):
        numbers = [line.number for row in diff.rows() if (line := getattr(row, side))]
        assert numbers == list(range(1, len(numbers) + 1))


@given(TEXTS, TEXTS)
def test_unchanged_rows_are_equal_and_marks_make_up_their_line(old, new):
    for row in line_diff.compare(old, new).rows():
        if not row.is_changed:
            assert row.old.text == row.new.text
        for line in filter(None, (row.old, row.new)):
            assert not line.parts or "".join(text for text, _ in line.parts) == line.text
        if row.is_changed and row.old and row.new and row.old.parts:
            unchanged = [[text for text, is_changed in line.parts if not is_changed] for line in (row.old, row.new)]
            assert "".join(unchanged[0]).split() == "".join(unchanged[1]).split()


@given(st.text(alphabet="ab c早", max_size=60), st.text(alphabet="ab c早", max_size=60))
def test_pieces_make_up_the_line_however_it_is_compared(old, new):
    for effort in (word_marks.Effort(), word_marks.Effort(0)):
        old_marks, new_marks = word_marks.mark_words(old, new, effort)
        assert ("".join(text for text, _ in old_marks), "".join(text for text, _ in new_marks)) == (old, new)


@given(TEXTS, TEXTS)
def test_the_unified_text_is_a_patch(old, new):
    patch = unified_format.format_patch(line_diff.build_view(line_diff.compare(old, new)), "x.md")
    assert apply_patch(old, patch) == new if patch else old == new


@given(TEXTS, TEXTS)
def test_the_sums_are_those_of_the_rows(old, new):
    diff = line_diff.compare(old, new)
    rows = [row for row in diff.rows() if row.is_changed]
    assert diff.removed == sum(row.old is not None for row in rows)
    assert diff.added == sum(row.new is not None for row in rows)


@given(TEXTS, TEXTS)
def test_a_view_leaves_no_change_out(old, new):
    diff = line_diff.compare(old, new)
    view = line_diff.build_view(diff)
    assert [r for s in view.sections for r in s.rows if r.is_changed] == [r for r in diff.rows() if r.is_changed]
    count = sum(section.count if section.is_fold else len(section.rows) for section in view.sections)
    assert count == len(list(diff.rows()))


def test_changed_words_are_marked():
    html = draw_diff("# Head\nMei likes tea\n", "# Head\nMei likes coffee\n")
    assert "Mei likes <del>tea</del>" in html
    assert "Mei likes <ins>coffee</ins>" in html
    assert '<a class="diff__no" tabindex="-1" id="old-L2" href="#old-L2">2</a><span class="diff__sign">−</span>' in html
    assert '<a class="diff__no" tabindex="-1" id="L2" href="#L2">2</a><span class="diff__sign">+</span>' in html


def test_chinese_is_compared_by_character():
    assert "周<ins>三</ins>开会" in draw_diff("周二开会\n", "周三开会\n")


def test_a_line_that_moved_among_changed_ones_finds_its_partner():
    old = "alpha beta gamma\nentirely different\n"
    new = "something new here now\nalpha beta delta\n"
    rows = list(line_diff.compare(old, new).rows())
    assert [(row.old and row.old.number, row.new and row.new.number) for row in rows] == [(None, 1), (1, 2), (2, None)]


@pytest.mark.parametrize(("old", "new"), [(None, "a\n"), ("a\n", None), (None, None), ("", ""), (None, "")])
def test_a_text_that_is_not_there(old, new):
    diff = line_diff.compare(old, new)
    assert (diff.old_exists, diff.new_exists) == (old is not None, new is not None)
    assert (diff.removed, diff.added) == (bool(old), bool(new))
    assert isinstance(draw_diff(old, new), str)


def test_unchanged_runs_are_folded_with_their_count():
    old = "".join(f"line {number}\n" for number in range(100))
    html = draw_diff(old, old.replace("line 50\n", "changed\n"))
    assert html.count('<details class="diff__fold"><summary>47 unchanged lines</summary>') == 1
    assert html.count('<details class="diff__fold"><summary>46 unchanged lines</summary>') == 1
    assert 'id="L3"' in html


def test_a_missing_newline_is_said_and_a_return_shown_where_it_changed():
    assert "no newline at the end" in draw_diff("a\nb\n", "a\nb")
    assert "no newline" not in draw_diff("a\n", "b\n")
    assert "CR" in draw_diff("a\r\nb\n", "a\nb\n")
    assert "CR" not in draw_diff("a\r\nb\r\n", "a\r\nc\r\n")


def test_unchanged_lines_are_escaped_once_and_each_shows_what_it_hides():
    long = "<i>" * 2_000
    same = f"a < b\n100 %(new)s & more\n{long}\n"
    html = draw_diff(f"{same}old\n", f"{same}new\n")
    assert html.count('<div class="diff__text">a &lt; b</div>') == 2
    assert html.count('<div class="diff__text">100 %(new)s &amp; more</div>') == 2
    assert html.count("&lt;i&gt;&lt;</div>") == 0 and "&amp;lt;" not in html
    assert html.count("2,000 characters more") == 2
    assert draw_diff("a\r\nb\u202e\nold\n", "a\r\nb\u202e\nnew\n").count('<span class="glyph">') == 4


def test_what_a_file_holds_does_nothing():
    html = draw_diff("<b>x</b>\n", "<b>x</b><script>1</script>\u202e\x00\n")
    assert not [odd for odd in ("<script>", "<b>", "\u202e") if odd in html]
    assert "U+202E" in html and "NUL" in html


@pytest.mark.parametrize(
    ("old", "new"),
    first(
        [
            ("x\n" * 300_000, "x\n" * 150_000 + "y\n" + "x\n" * 100_000),
            ("a b " * 500_000, "a b " * 499_999 + "c"),
            ("\n".join("ab"[i % 2] for i in range(9_000)), "\n".join("aab"[i % 3] for i in range(9_000))),
            ("".join(f"{i}\n" for i in range(60_000)), "".join(f"{i * 2}\n" for i in range(60_000))),
            ("".join(f"x{i}\n" for i in range(60_000)), "".join(f"y{i}\n" for i in range(60_000))),
            ("x" * 5_000_000, "y" * 5_000_000),
        ],
        3,
    ),
)
def test_huge_texts_are_compared_coarsely_and_drawn_small(old, new):
    diff = line_diff.compare(old, new)
    view = line_diff.build_view(diff)
    assert diff.is_coarse
    assert "".join(row.new.text for row in diff.rows() if row.new) == new
    assert len(draw_view(view, diff)) < 2_000_000
    rows = sum(row.is_changed for section in view.sections for row in section.rows)
    assert rows <= line_diff.SHOWN_ROWS
    assert view.left_out == sum(row.is_changed for row in diff.rows()) - rows


def test_a_long_line_is_shown_around_its_change():
    html = draw_diff("a " * 5_000 + "tea" + " b" * 5_000, "a " * 5_000 + "rum" + " b" * 5_000)
    assert "<ins>rum</ins>" in html
    assert "characters more" in html
    assert len(html) < 5_000


def test_two_diffs_of_one_page_are_kept_apart():
    diff = line_diff.compare("a\n", "b\n")
    assert 'id="d-old-L1"' in draw_view(line_diff.build_view(diff), diff, prefix="d-")
