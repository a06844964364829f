"""Pairs the lines of a changed run, and marks the words that changed.

Pure functions.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

Part = tuple[str, bool]  # a piece of a line, and whether it changed

# Scripts without spaces are compared character by character, everything else word by word.
UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
WORDS = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\S\r\n]+|.", re.DOTALL)
ALIKE = 0.4  # from this likeness on, two lines count as one line that was changed
COMPARED = 400  # characters of a line that are compared with another line
PAIRINGS = 2_500  # of lines with lines in one run
LONG = 2_000  # characters: beyond it a line's change is one piece


class Effort:
    """A budget for comparing one diff; beyond it the comparison is coarser."""

    def __init__(self, steps: int = 5_000_000):
        self.remaining = steps
        self.is_spent = False

    def grants(self, old: Sequence[str], new: Sequence[str]) -> bool:
        """Whether difflib may compare two sequences; the cost is taken from the budget.

        difflib visits every equal pair again for each run it finds.
        """
        seen = Counter(old)
        pairs = sum(seen[item] for item in new)
        cost = pairs * min(len(old), len(new)) + len(old) + len(new)
        if cost > self.remaining:
            self.is_spent = True
            return False
        self.remaining -= cost
        return True


def pair_lines(old: Sequence[str], new: Sequence[str], effort: Effort) -> Iterator[tuple[int | None, int | None, bool]]:
    """Pair the lines of a changed run that stand side by side.

    Yields (place in `old`, place in `new`, whether one line became the other); a place is None where a side has no
    line.
    """
    done_old = done_new = 0
    for i, j in [*_match_lines(old, new, effort), (len(old), len(new))]:
        for left, right in zip_longest(range(done_old, i), range(done_new, j)):
            yield left, right, False
        if i < len(old) and j < len(new):
            yield i, j, True
        done_old, done_new = i + 1, j + 1


def mark_words(old: str, new: str, effort: Effort) -> tuple[list[Part], list[Part]]:
    """Split both lines into pieces, each with whether it changed.

    Joined, the pieces of a line are the line again.
    """
    if len(old) + len(new) > LONG:
        return _mark_middle(old, new)
    left, right = WORDS.findall(old), WORDS.findall(new)
    if not effort.grants(left, right):
        return _mark_middle(old, new)
    marked_old: list[Part] = []
    marked_new: list[Part] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        marked_old.append(("".join(left[i1:i2]), tag != "equal"))
        marked_new.append(("".join(right[j1:j2]), tag != "equal"))
    return _merge_parts(marked_old), _merge_parts(marked_new)


def _match_lines(old, new, effort):
    """The pairs of lines, in order, whose likeness has the greatest sum.

    When there are too many lines to try, lines are paired by place.
    """
    if len(old) * len(new) > PAIRINGS or effort.remaining <= 0:
        effort.is_spent = True
        return [(i, i) for i in range(len(old)) if _has_common_word(old[i], new[i])] if len(old) == len(new) else []
    effort.remaining -= len(old) * len(new) * 50
    left, right = [_count_words(line) for line in old], [_count_words(line) for line in new]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    taken = {}
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            likeness = _compute_likeness(left[i], right[j])
            together = likeness + best[i + 1][j + 1] if likeness >= ALIKE else -1.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
            taken[i, j] = together >= best[i][j]
    return _trace_pairs(best, taken, len(old), len(new))


def _has_common_word(left, right):
    """Whether two lines begin alike or have a word in common."""
    return left[:4] == right[:4] or not set(left.split()).isdisjoint(right.split())


def _trace_pairs(best, taken, rows, columns):
    matched, i, j = [], 0, 0
    while i < rows and j < columns:
        if taken[i, j]:
            matched.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return matched


def _count_words(line):
    words = Counter(word for word in WORDS.findall(line[:COMPARED]) if not word.isspace())
    return words, words.total()


def _compute_likeness(left, right):
    (words, count), (others, other_count) = left, right
    if not count or not other_count:
        return 0.0
    return 2 * (words & others).total() / (count + other_count)


def _mark_middle(old, new):
    """Mark everything between the common start and the common end as changed."""
    start = _count_shared_start(old, new)
    end = _count_shared_start(old[start:][::-1], new[start:][::-1])
    return _split_at(old, start, end), _split_at(new, start, end)


def _count_shared_start(old, new):
    """Count the characters that two texts begin with together.

    The count is found by halving, because the texts may be megabytes long.
    """
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _split_at(line, start, end):
    last = len(line) - end
    return _merge_parts([(line[:start], False), (line[start:last], True), (line[last:], False)])


def _merge_parts(marked):
    """Merge neighbouring parts of the same kind.

    Blanks between two changed parts count as changed.
    """
    merged: list[Part] = []
    marked = [part for part in marked if part[0]]
    for place, (text, is_changed) in enumerate(marked):
        is_between = 0 < place < len(marked) - 1 and text.isspace()
        is_changed = is_changed or (is_between and marked[place - 1][1] and marked[place + 1][1])
        if merged and merged[-1][1] == is_changed:
            merged[-1] = (merged[-1][0] + text, is_changed)
        else:
            merged.append((text, is_changed))
    return merged
