"""Compares two texts line by line, with changed words marked and unchanged runs folded.

Pure functions.

Only a newline ends a line, and a line keeps its ending: the lines of a diff, put together, are both texts again.
Lines that each text has once are found first and hold the rest in place; what lies between them is left to difflib
as long as that is cheap. Texts over `FINE_CHARACTERS` or `FINE_LINES`, and runs that would take too long, are
compared more coarsely: whole runs and whole lines instead of single words, and the diff says so. So does one of texts
with very many short lines: all from their first to their last difference is one change.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import NamedTuple

from . import line_pieces
from .word_marks import Effort, Part, mark_words, pair_lines

FINE_CHARACTERS = 1_000_000  # of both texts
FINE_LINES = 20_000
SHORT_LINE = 25  # characters: texts may have as many lines of this length, and FINE_LINES, to be compared by lines
CONTEXT = 3  # unchanged lines that stand around a change
SHOWN_ROWS = 2_000
SHOWN_CHARACTERS = 400_000
FOLDED_ROWS = 1_000  # unchanged lines that folds of one diff hold in all


class Line(NamedTuple):
    """One line of a text: its number from 1, the text, and its parts.

    The text includes the ending. `parts` say which pieces changed.
    """

    number: int
    text: str
    parts: tuple[Part, ...] = ()

    def pieces(self, ending: str) -> list[line_pieces.LinePiece]:
        """The pieces that a page shows, without an `ending` that all lines share."""
        return line_pieces.split_line(self.text, self.parts, ending)


class Row(NamedTuple):
    """An old and a new line side by side; None where a text has no line."""

    old: Line | None
    new: Line | None
    is_changed: bool


@dataclass(slots=True)
class Section:
    """Rows to show, or a run of `count` unchanged lines to fold.

    The rows of a long run are only counted: `rows` is empty then.
    """

    rows: list[Row] = field(default_factory=list)
    count: int = 0
    is_fold: bool = False

    @property
    def is_hunk(self) -> bool:
        """Whether the section has a changed line."""
        return not self.is_fold and any(row.is_changed for row in self.rows)

    @property
    def runs(self) -> Iterator[tuple[bool, Iterator[Row]]]:
        """The rows in runs of changed and of unchanged ones, each with whether it is changed."""
        return groupby(self.rows, key=lambda row: row.is_changed)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `old_start` to `old_end` became `new_start` to `new_end` (counted from 0), or are the same."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int
    is_same: bool


@dataclass(slots=True)
class View:
    """A diff as a page shows it.

    `left_out` counts changed lines that are not in it, because the view was getting too long.

    `is_coarse`: its words were compared less precisely, or not at all.
    """

    sections: list[Section] = field(default_factory=list)
    left_out: int = 0
    is_coarse: bool = False

    @property
    def hunk_count(self) -> int:
        """How many changed places the view shows."""
        return sum(section.is_hunk for section in self.sections)


@dataclass(slots=True)
class Diff:
    """The changes from `old_lines` to `new_lines`, as blocks of equal and changed lines.

    A text that does not exist has no lines, and its `..._exists` is false.
    """

    old_lines: list[str]
    new_lines: list[str]
    old_exists: bool
    new_exists: bool
    blocks: list[Block] = field(default_factory=list)
    is_coarse: bool = False
    steps: int = 0  # for comparing runs and words, in proportion to the length of both texts

    @property
    def added(self) -> int:
        """How many lines of the new text are new or changed."""
        return sum(block.new_end - block.new_start for block in self.blocks if not block.is_same)

    @property
    def removed(self) -> int:
        """How many lines of the old text are removed or changed."""
        return sum(block.old_end - block.old_start for block in self.blocks if not block.is_same)

    @property
    def has_one_ending(self) -> bool:
        """Whether every line of both texts ends with CRLF, so that pages need not show endings."""
        lines = [line for line in (*self.old_lines, *self.new_lines) if line.endswith("\n")]
        return bool(lines) and all(line.endswith("\r\n") for line in lines)

    def rows(self) -> Iterator[Row]:
        """Every row of the diff, nothing folded and nothing left out."""
        effort = Effort()
        for block in self.blocks:
            if block.is_same:
                yield from _same_rows(self, block.old_start, block.old_end, block)
            else:
                yield from _changed_rows(self, block, effort)


def compare(old: str | None, new: str | None, *, length: int | None = None) -> Diff:
    """The diff of two texts; None is a text that does not exist.

    `length`: the characters of longer texts that these stand for, line by line.
    """
    diff = _create_diff(old, new)
    effort = Effort(diff.steps)
    length = len(old or "") + len(new or "") if length is None else length
    has_short_lines = len(diff.old_lines) + len(diff.new_lines) > FINE_LINES + length // SHORT_LINE
    diff.blocks = list(_blocks(diff.old_lines, diff.new_lines, None if has_short_lines else effort))
    diff.is_coarse = diff.is_coarse or effort.is_spent
    return diff


def build_from_hunks(old: str | None, new: str | None, hunks: Sequence[Sequence[int]]) -> Diff:
    """Build the diff of two texts from changed places that are known.

    Each hunk is (first and last line before, first and last line after), counted from 0.

    Where these are not the changes of these texts, they are compared.
    """
    diff = _create_diff(old, new)
    i = j = 0
    for old_start, old_end, new_start, new_end in [*hunks, (len(diff.old_lines),) * 2 + (len(diff.new_lines),) * 2]:
        is_in_order = i <= old_start <= old_end and j <= new_start <= new_end
        if not is_in_order or diff.old_lines[i:old_start] != diff.new_lines[j:new_start]:
            return compare(old, new)
        if i < old_start:
            diff.blocks.append(Block(i, old_start, j, new_start, is_same=True))
        if old_start < old_end or new_start < new_end:
            diff.blocks.append(Block(old_start, old_end, new_start, new_end, is_same=False))
        i, j = old_end, new_end
    return diff


def _create_diff(old, new):
    """A diff with the lines of both texts, before they are compared."""
    diff = Diff(split_lines(old or ""), split_lines(new or ""), old is not None, new is not None)
    characters = len(old or "") + len(new or "")
    diff.is_coarse = characters > FINE_CHARACTERS or len(diff.old_lines) + len(diff.new_lines) > FINE_LINES
    diff.steps = 0 if diff.is_coarse else 1_000_000 + 4 * characters
    return diff


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their endings; joined they are the text again."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def build_view(diff: Diff, *, room: int = FOLDED_ROWS, has_marks: bool = True) -> View:
    """The view of a diff for a page: unchanged runs folded, and cut when too long.

    `room`: how many folded rows the view holds, to be unfolded; the others are only counted. `has_marks=False` is for
    diffs as text, which need neither pairs of lines nor marked words: finding those takes most of the time.
    """
    effort = Effort(diff.steps) if has_marks else None
    result, rows, characters, folded = View([Section()]), 0, 0, 0
    for place, block in enumerate(diff.blocks):
        if rows >= SHOWN_ROWS or characters >= SHOWN_CHARACTERS:
            if not block.is_same:
                result.left_out += max(block.old_end - block.old_start, block.new_end - block.new_start)
            continue
        if block.is_same:
            folded += _add_unchanged(result, diff, place, room=room - folded)
            continue
        for number, row in enumerate(_changed_rows(diff, block, effort)):
            if rows >= SHOWN_ROWS or characters >= SHOWN_CHARACTERS:
                length = max(block.old_end - block.old_start, block.new_end - block.new_start)
                result.left_out += max(length - number, 1)  # not counted row by row: a file may have a million lines
                break
            result.sections[-1].rows.append(row)
            rows += 1
            characters += sum(min(len(line.text), SHOWN_CHARACTERS // 40) for line in (row.old, row.new) if line)
    result.sections = [section for section in result.sections if section.rows or section.is_fold]
    result.is_coarse = diff.is_coarse or bool(effort and effort.is_spent)
    return result


def _add_unchanged(view_so_far, diff, place, *, room):
    """Add an unchanged run, its ends as context and the middle as a fold.

    Returns how many rows the fold holds.
    """
    block = diff.blocks[place]
    first, last = block.old_start, block.old_end
    head = 0 if place == 0 else CONTEXT
    tail = 0 if place == len(diff.blocks) - 1 else CONTEXT
    if last - first <= head + tail + 1:
        view_so_far.sections[-1].rows += _same_rows(diff, first, last, block)
        return 0
    view_so_far.sections[-1].rows += _same_rows(diff, first, first + head, block)
    fold = Section(count=last - first - head - tail, is_fold=True)
    if fold.count <= room:
        fold.rows = list(_same_rows(diff, first + head, last - tail, block))
    view_so_far.sections += [fold, Section(list(_same_rows(diff, last - tail, last, block)))]
    return len(fold.rows)


def _same_rows(diff, first, last, block):
    ahead = block.new_start - block.old_start
    for i in range(first, last):
        text = diff.old_lines[i]
        yield Row(Line(i + 1, text), Line(i + ahead + 1, text), is_changed=False)


def _changed_rows(diff, block, effort):
    old = diff.old_lines[block.old_start : block.old_end]
    new = diff.new_lines[block.new_start : block.new_end]
    for i, j, is_pair in pair_lines(old, new, effort) if effort else _pair_by_place(old, new):
        marks = mark_words(old[i], new[j], effort) if is_pair else ([], [])
        old_line = None if i is None else Line(block.old_start + i + 1, old[i], tuple(marks[0]))
        new_line = None if j is None else Line(block.new_start + j + 1, new[j], tuple(marks[1]))
        yield Row(old_line, new_line, is_changed=True)


def _pair_by_place(old, new):
    """Pair lines by place, for texts where nobody asks which lines belong together."""
    return ((i, j, False) for i, j in zip_longest(range(len(old)), range(len(new))))


def _blocks(old, new, effort):
    """Runs of equal and of changed lines in turn, from the first line to the last."""
    done_old = done_new = 0
    for i, j, size in _join_runs([*_equal_runs(old, new, effort), (len(old), len(new), 0)]):
        if done_old < i or done_new < j:
            yield Block(done_old, i, done_new, j, is_same=False)
        if size:
            yield Block(i, i + size, j, j + size, is_same=True)
        done_old, done_new = i + size, j + size


def _join_runs(runs):
    """Merge each run that begins where the one before it ends."""
    current = None
    for i, j, size in runs:
        if current and (current[0] + current[2], current[1] + current[2]) == (i, j):
            current = (current[0], current[1], current[2] + size)
            continue
        if current:
            yield current
        current = (i, j, size)
    yield current


def _equal_runs(old, new, effort):
    start, end = count_shared_ends(old, new)
    old_end, new_end = len(old) - end, len(new) - end
    if start:
        yield 0, 0, start
    i, j = start, start
    anchors = [*_find_anchors(old, new, start, old_end, new_end), (old_end, new_end)] if effort else ()
    for next_i, next_j in anchors:
        yield from _find_runs_between(old, new, (i, next_i, j, next_j), effort)
        if next_i < old_end:
            yield next_i, next_j, 1
        i, j = next_i + 1, next_j + 1
    if end:
        yield old_end, new_end, end


def _find_runs_between(old, new, bounds, effort):
    """Equal runs between two anchors, when finding them is cheap."""
    i, old_end, j, new_end = bounds
    if i == old_end or j == new_end:
        return
    left, right = old[i:old_end], new[j:new_end]
    if set(left).isdisjoint(right) or not effort.grants(left, right):
        return
    for match in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        if match.size:
            yield i + match.a, j + match.b, match.size


def count_shared_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """The number of lines, or words, that both texts begin with, and end with."""
    most = min(len(old), len(new))
    start = next((i for i in range(most) if old[i] != new[i]), most)
    most -= start
    end = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    return start, end


def _find_anchors(old, new, start, old_end, new_end):
    """The longest sequence of lines that both texts have exactly once, in the same order.

    Returns their places as (old, new). This is the patience diff: lines that are unique in both texts.
    """
    old_counts, new_counts = Counter(old[start:old_end]), Counter(new[start:new_end])
    places = {new[j]: j for j in range(start, new_end) if new_counts[new[j]] == 1}
    both = [(i, places[old[i]]) for i in range(start, old_end) if old_counts[old[i]] == 1 and old[i] in places]
    tails: list[int] = []  # the smallest last place of a row of that length
    ends: list[int] = []
    before: list[int | None] = []
    for number, (_, j) in enumerate(both):
        length = bisect_left(tails, j)
        tails[length : length + 1] = [j]
        before.append(ends[length - 1] if length else None)
        ends[length : length + 1] = [number]
    anchors, at = [], ends[-1] if ends else None
    while at is not None:
        anchors.append(both[at])
        at = before[at]
    return anchors[::-1]
