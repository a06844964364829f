"""Which lines of a changed run belong together, and which words of them changed. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

Part = tuple[str, bool]  # a piece of a line, and whether it changed

# Scripts without spaces are compared character by character, everything else word by word.
UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
WORDS = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\S\r\n]+|.", re.DOTALL)
ALIKE = 0.4  # from here on two lines are one line that was changed
COMPARED = 400  # characters of a line that say whether it is like another one
PAIRINGS = 2_500  # of lines with lines in one run
LONG = 2_000  # characters: beyond it a line's change is one piece


class Effort:
    """How much comparing one diff may cost; what is not granted is told apart more coarsely."""

    def __init__(self, steps: int = 5_000_000):
        self.left = steps
        self.is_spent = False

    def grants(self, old: Sequence[str], new: Sequence[str]) -> bool:
        """Whether difflib may compare two sequences: it looks at every equal pair again for each run it finds."""
        seen = Counter(old)
        pairs = sum(seen[item] for item in new)
        cost = pairs * min(len(old), len(new)) + len(old) + len(new)
        if cost > self.left:
            self.is_spent = True
            return False
        self.left -= cost
        return True


def pair_lines(old: Sequence[str], new: Sequence[str], effort: Effort) -> Iterator[tuple[int | None, int | None, bool]]:
    """Lines to stand beside each other, as (place in `old`, place in `new`, whether one became the other)."""
    done_old = done_new = 0
    for i, j in [*_alike(old, new, effort), (len(old), len(new))]:
        for left, right in zip_longest(range(done_old, i), range(done_new, j)):
            yield left, right, False
        if i < len(old) and j < len(new):
            yield i, j, True
        done_old, done_new = i + 1, j + 1


def mark_words(old: str, new: str, effort: Effort) -> tuple[list[Part], list[Part]]:
    """Both lines in pieces, each said to have changed or not; the pieces of a line make up the line."""
    if len(old) + len(new) > LONG:
        return _middle(old, new)
    left, right = WORDS.findall(old), WORDS.findall(new)
    if not effort.grants(left, right):
        return _middle(old, new)
    marked_old: list[Part] = []
    marked_new: list[Part] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        marked_old.append(("".join(left[i1:i2]), tag != "equal"))
        marked_new.append(("".join(right[j1:j2]), tag != "equal"))
    return _joined(marked_old), _joined(marked_new)


def _alike(old, new, effort):
    """The pairs of lines that are most alike in sum, in order; by place when there are too many to try."""
    if len(old) * len(new) > PAIRINGS or effort.left <= 0:
        effort.is_spent = True
        return [(i, i) for i in range(len(old)) if _share(old[i], new[i])] if len(old) == len(new) else []
    effort.left -= len(old) * len(new) * 50
    left, right = [_bag(line) for line in old], [_bag(line) for line in new]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    taken = {}
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            likeness = _likeness(left[i], right[j])
            together = likeness + best[i + 1][j + 1] if likeness >= ALIKE else -1.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
            taken[i, j] = together >= best[i][j]
    return _way(best, taken, len(old), len(new))


def _share(left, right):
    """Whether two lines have anything in common that is quickly seen."""
    return left[:4] == right[:4] or not set(left.split()).isdisjoint(right.split())


def _way(best, taken, rows, columns):
    found, i, j = [], 0, 0
    while i < rows and j < columns:
        if taken[i, j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def _bag(line):
    words = Counter(word for word in WORDS.findall(line[:COMPARED]) if not word.isspace())
    return words, words.total()


def _likeness(left, right):
    (words, count), (others, other_count) = left, right
    if not count or not other_count:
        return 0.0
    return 2 * (words & others).total() / (count + other_count)


def _middle(old, new):
    """What is equal at the start and at the end is unchanged, all between has changed."""
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    return _cut(old, start, end), _cut(new, start, end)


def _shared(old, new):
    """How many characters two texts begin with together, found by halving: they may be megabytes long."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(line, start, end):
    last = len(line) - end
    return _joined([(line[:start], False), (line[start:last], True), (line[last:], False)])


def _joined(marked):
    """Neighbours of one kind as one piece; blanks between two changed pieces count as changed."""
    found: list[Part] = []
    marked = [part for part in marked if part[0]]
    for place, (text, is_changed) in enumerate(marked):
        is_between = 0 < place < len(marked) - 1 and text.isspace()
        is_changed = is_changed or (is_between and marked[place - 1][1] and marked[place + 1][1])
        if found and found[-1][1] == is_changed:
            found[-1] = (found[-1][0] + text, is_changed)
        else:
            found.append((text, is_changed))
    return found
