"""Takes one write out of a file that was changed since, or finds a conflict.

A write turned `before` into `after`; somebody then turned `after` into `current`. Where the two changes lie apart in
`after`, the write's is turned back and the later one stays. Where both are about the same lines, only a person can tell
what the file should hold: a conflict. Texts keep every byte (guardian.services), and only a newline ends a line. All
functions are pure.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from openclaw_web.diffs.line_diff import Block, compare, split_lines


@dataclass(frozen=True, slots=True)
class Conflict:
    """A hunk of the write (numbered from 0) whose lines were changed since.

    `before`, `after` and `current`: the lines there before the write, after it, and now, each with its ending.
    """

    hunk: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    current: tuple[str, ...]


@dataclass(slots=True)
class MergeResult:
    """The text that a file would hold, and the hunks that were taken out.

    `text` leaves conflicting hunks as they are now. `taken_out` and `done` number hunks; a hunk is done when the file
    already holds there what it held before the write.
    """

    text: str
    lines: list[str] = field(default_factory=list)
    taken_out: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether no hunk needs a person."""
        return not self.conflicts


def find_hunks(before: str, after: str, *, length: int | None = None) -> list[Block]:
    """Return the places that a write changed, in order.

    Of each block, `old_…` are lines of `after`, and `new_…` the lines of `before` that they replaced. `length`: see
    `compare`.
    """
    return [block for block in compare(after, before, length=length).blocks if not block.is_same]


def take_out(before: str, after: str, current: str, *, only: Collection[int] | None = None) -> MergeResult:
    """Take hunks of a write out of what a file holds now.

    `only` are the numbers of these hunks; None means all.

    Where equal lines leave it open which of them a change was about, reading from the end finds another place than
    reading from the start: then every hunk is a conflict.
    """
    lines = _Lines(before, after, current)
    merged = _merge(lines, only)
    if merged.is_whole and merged.taken_out and current != after:
        last = len(_hunks(lines)) - 1
        other = _merge(lines.turned(), None if only is None else [last - number for number in only])
        if not other.is_whole or merged.lines != other.lines[::-1] or not _is_unambiguous(lines, merged, only):
            numbers = sorted({*merged.taken_out, *merged.done})
            hunks = _hunks(lines)
            return MergeResult(
                current, lines.current, conflicts=[_build_conflict(n, hunks[n], [], lines) for n in numbers]
            )
    return merged


def put_in(base: str, theirs: str, current: str) -> str | None:
    """Merge what somebody else made of `base` into `current`; None on a conflict.

    A conflict is that both changed the same lines.

    Lines that were only added have a place in any case: behind what is left of the lines before them.
    """
    merged = take_out(theirs, base, current)  # taking their reversed change out puts the change in
    if merged.is_whole:
        return merged.text
    added = [block for block in compare(base, theirs).blocks if not block.is_same]
    if any(block.old_start < block.old_end for block in added):
        return None
    current_blocks = compare(base, current).blocks
    current_lines, theirs_lines = split_lines(current), split_lines(theirs)
    ends = [block.old_end for block in current_blocks]
    lines, copied_to = list[str](), 0
    for block in added:
        number, place = bisect_left(ends, block.old_start), len(current_lines)
        if number < len(ends):
            near = current_blocks[number]
            place = near.new_start + block.old_start - near.old_start if near.is_same else near.new_end
        lines += [*current_lines[copied_to:place], *theirs_lines[block.new_start : block.new_end]]
        copied_to = place
    lines += current_lines[copied_to:]
    return None if any(not line.endswith("\n") for line in lines[:-1]) else "".join(lines)


class _Lines:
    """The lines of the three texts of a rollback."""

    def __init__(self, before, after, current, *, is_turned=False):
        self.is_turned = is_turned
        self.before, self.after, self.current = (
            split_lines(text) if isinstance(text, str) else text for text in (before, after, current)
        )
        every = {line: number for number, line in enumerate([*self.before, *self.after, *self.current])}
        self.length = sum(map(len, self.after)) * 2  # of two of the three, before numbers stood for their lines
        self.texts = [
            "".join(f"{every[line]}\n" for line in lines) for lines in (self.before, self.after, self.current)
        ]

    def turned(self):
        """The same from the end to the start."""
        return _Lines(self.before[::-1], self.after[::-1], self.current[::-1], is_turned=True)


def _is_unambiguous(lines, merged, only):
    """Whether writing the same again would give what the file held.

    This is checked only where lines of the write occur more than once.
    """
    hunks = _hunks(lines)
    own = {line for hunk in hunks for line in lines.after[hunk.old_start : hunk.old_end]}
    own |= {line for hunk in hunks for line in lines.before[hunk.new_start : hunk.new_end]}
    counts = [Counter(text_lines) for text_lines in (lines.before, lines.after, lines.current, merged.lines)]
    if only is not None or not any(count[line] > 1 for count in counts for line in own if line.strip()):
        return True
    return _merge(_Lines(lines.after, lines.before, merged.lines), None).lines == lines.current


def _hunks(lines):
    return find_hunks(lines.texts[0], lines.texts[1], length=lines.length)


def _merge(lines: _Lines, only) -> MergeResult:
    later = find_hunks(lines.texts[2], lines.texts[1], length=lines.length)
    starts, ends = [block.old_start for block in later], [block.old_end for block in later]
    merged, edits = MergeResult(""), list[tuple[Block, list[str]]]()
    for number, hunk in enumerate(_hunks(lines)):
        if only is not None and number not in only:
            continue
        old_lines = lines.before[hunk.new_start : hunk.new_end]
        nearby = later[bisect_left(ends, hunk.old_start) : bisect_right(starts, hunk.old_end)]
        near = [block for block in nearby if _clash(hunk, block) or _would_run_on(hunk, block, lines)]
        if not near:
            merged.taken_out.append(number)
            edits.append((hunk, old_lines))
        elif len(near) == 1 and _is_same_edit(hunk, old_lines, near[0], lines.current):
            merged.done.append(number)
        else:
            merged.conflicts.append(_build_conflict(number, hunk, near, lines))
    edits += [(block, lines.current[block.new_start : block.new_end]) for block in later]
    merged.lines = list(_replace_stretches(lines.after, edits))
    merged.text = "".join(merged.lines)
    return merged


def _clash(hunk, block):
    """Whether two changes of the same text are about the same lines.

    Side by side their order is known: agents append to their memory, and each line has neighbours. But lines that a
    write removed come back between two neighbours, and when one of these changed nobody can tell where that is.
    """
    if hunk.old_start == hunk.old_end:
        return block.old_start <= hunk.old_start <= block.old_end
    if block.old_start == block.old_end:
        return hunk.old_start < block.old_start < hunk.old_end
    return max(hunk.old_start, block.old_start) < min(hunk.old_end, block.old_end)


def _would_run_on(hunk, block, lines):
    """Whether a restored last line without an ending would precede lines added after it."""
    if lines.is_turned or not lines.before or lines.before[-1].endswith("\n"):
        return False
    return hunk.new_end == len(lines.before) and hunk.new_start < hunk.new_end and block.old_start == hunk.old_end


def _is_same_edit(hunk, old_lines, block, current):
    same_place = (hunk.old_start, hunk.old_end) == (block.old_start, block.old_end)
    return same_place and current[block.new_start : block.new_end] == old_lines


def _build_conflict(number, hunk, near, lines):
    """Return the lines of all three texts around a hunk and the changes it clashes with."""
    first = min([hunk.old_start, *(block.old_start for block in near)])
    last = max([hunk.old_end, *(block.old_end for block in near)])
    before = slice(max(0, hunk.new_start - (hunk.old_start - first)), hunk.new_end + (last - hunk.old_end))
    now = lines.current
    if near:
        now = now[
            max(0, near[0].new_start - (near[0].old_start - first)) : near[-1].new_end + (last - near[-1].old_end)
        ]
    return Conflict(number, tuple(lines.before[before]), tuple(lines.after[first:last]), tuple(now))


def _replace_stretches(lines, edits):
    """Lines with some of their stretches replaced; the stretches lie apart."""
    at = 0
    for block, new_lines in sorted(edits, key=lambda edit: (edit[0].old_start, edit[0].old_end)):
        yield from lines[at : block.old_start]
        yield from new_lines
        at = block.old_end
    yield from lines[at:]
