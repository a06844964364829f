"""Texts that were made to be slow: the calls of all that reads them are in proportion to their length."""

import pytest

from benchmarks.checks import attack_entries
from benchmarks.checks.attack_texts import SHAPES
from guardian.detail.line_blame import assign_writes, match_lines
from guardian.rollbacks.merge import put_in
from openclaw_web.diffs import line_diff
from tests.openclaw_web.detectors.test_budgets import count_calls

LENGTH = 12_000
MOST_CALLS = 60 * LENGTH + 200_000  # short texts have steps free; what is compiled once is counted too


class TestDiffs:
    @pytest.mark.parametrize("edit", sorted(attack_entries.EDITS))
    def test_very_many_short_lines_are_one_change_and_the_diff_says_so(self, edit):
        old = SHAPES["lines of a digit"](60_020)
        new = attack_entries.EDITS[edit](old)
        diff = line_diff.compare(old, new)
        assert [block.is_same for block in diff.blocks].count(False) == 1
        assert diff.is_coarse
        assert ("".join(diff.old_lines), "".join(diff.new_lines)) == (old, new)

    def test_as_many_ordinary_lines_are_compared(self):
        old = "".join(f"line {number} of a long file\n" for number in range(15_000))
        diff = line_diff.compare(old, old.replace("line 70 ", "LINE 70 ").replace("line 9000 ", "LINE 9000 "))
        assert [block.is_same for block in diff.blocks].count(False) == 2

    def test_lines_that_numbers_stand_for_have_the_length_of_their_own(self):
        old = "".join(f"{number}\n" for number in range(15_000))
        new = old.replace("\n70\n", "\nx\n").replace("\n9000\n", "\ny\n")
        assert [block.is_same for block in line_diff.compare(old, new).blocks].count(False) == 1
        assert [block.is_same for block in line_diff.compare(old, new, length=10**6).blocks].count(False) == 2


class TestFiles:
    def test_many_changes_of_one_write(self):
        hunks = [(2 * number, 2 * number + 1, 3 * number, 3 * number + 2) for number in range(100_000)]
        assert assign_writes(300_000, [("w", hunks)]) == ["w", "w", None] * 100_000

    def test_many_equal_lines(self):
        lines = ["a\n"] * 300_000
        pairs = list(match_lines(lines, range(300_000), lines, [(0, 300_000, 0, 300_000)]))
        assert pairs == [(number, number) for number in range(300_000)]

    def test_lines_that_somebody_else_added_stand_where_they_were_added(self):
        base = "".join(f"line {number}\n" for number in range(200))
        theirs = "".join(f"line {number}\nnew {number}\n" for number in range(200))
        ours = base.replace("line 7\n", "LINE 7\n")
        assert put_in(base, theirs, ours) == theirs.replace("line 7\n", "LINE 7\n")


@pytest.mark.nightly
@pytest.mark.parametrize("shape", sorted(SHAPES))
class TestAttacks:
    @pytest.mark.parametrize("name", sorted(attack_entries.TEXT_ENTRIES))
    def test_the_calls_for_a_text_are_in_proportion_to_its_length(self, name, shape):
        text = SHAPES[shape](LENGTH)
        assert count_calls(lambda: attack_entries.TEXT_ENTRIES[name](text)) <= MOST_CALLS

    @pytest.mark.parametrize("name", sorted(attack_entries.PAIR_ENTRIES))
    @pytest.mark.parametrize("edit", ["alternate", "reverse"])
    def test_so_are_those_for_a_pair(self, name, edit, shape):
        text = SHAPES[shape](LENGTH)
        edited = attack_entries.EDITS[edit](text)
        assert count_calls(lambda: attack_entries.PAIR_ENTRIES[name](text, edited)) <= MOST_CALLS
