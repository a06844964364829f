"""Taking one write out of a file that was changed since: only its own lines, or a conflict. Pure.

A write turned `before` into `after`; somebody then turned `after` into `current`. Where the two changes lie apart in
`after`, the write's is turned back and the later one stays. Where both are about the same lines, nobody but a person
can tell what the file should hold: a conflict. Texts keep every byte (guardian.exact), and only a newline ends a line.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from openclaw_web.diffs.comparing import Block, compare, lines_of


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
class Merged:
    """What a file would hold. `text` leaves conflicting hunks as they are now; `done` are those that are gone before.

    `taken_out` and `done` number hunks; a hunk is done when the file already holds there what it held before.
    """

    text: str
    taken_out: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether no hunk is left for a person."""
        return not self.conflicts


def hunks_of(before: str, after: str) -> list[Block]:
    """The places that a write changed, in order: lines of `after` (`old_…`), which were lines of `before` (`new_…`)."""
    return [block for block in compare(after, before).blocks if not block.is_same]


def take_out(before: str, after: str, current: str, *, only: Collection[int] | None = None) -> Merged:
    """Take the hunks of a write (`only`: those of these numbers) out of what a file holds now."""
    lines = {"before": lines_of(before), "after": lines_of(after), "current": lines_of(current)}
    later = [block for block in compare(after, current).blocks if not block.is_same]
    merged, edits = Merged(""), list[tuple[Block, list[str]]]()
    for number, hunk in enumerate(hunks_of(before, after)):
        if only is not None and number not in only:
            continue
        wanted = lines["before"][hunk.new_start : hunk.new_end]
        near = [place for place, block in enumerate(later) if _clash(hunk, block)]
        if not near:
            merged.taken_out.append(number)
            edits.append((hunk, wanted))
        elif len(near) == 1 and _same_edit(hunk, wanted, later[near[0]], lines["current"]):
            merged.done.append(number)
        else:
            merged.conflicts.append(_conflict(number, hunk, [later[place] for place in near], lines))
    edits += [(block, lines["current"][block.new_start : block.new_end]) for block in later]
    merged.text = "".join(_edited(lines["after"], edits))
    return merged


def _clash(hunk, block):
    """Whether two changes of the same text are about the same lines, or both add at the same place.

    Side by side their order is known: agents append to their memory, and each line has neighbours.
    """
    if hunk.old_start == hunk.old_end == block.old_start == block.old_end:
        return True
    if hunk.old_start == hunk.old_end or block.old_start == block.old_end:
        return hunk.old_start < block.old_end and block.old_start < hunk.old_end
    return max(hunk.old_start, block.old_start) < min(hunk.old_end, block.old_end)


def _same_edit(hunk, wanted, block, current):
    same_place = (hunk.old_start, hunk.old_end) == (block.old_start, block.old_end)
    return same_place and current[block.new_start : block.new_end] == wanted


def _conflict(number, hunk, near, lines):
    """The lines of all three texts around a hunk and the changes that touch it."""
    first = min(hunk.old_start, *(block.old_start for block in near))
    last = max(hunk.old_end, *(block.old_end for block in near))
    lead, tail = near[0], near[-1]
    current = slice(lead.new_start - (lead.old_start - first), tail.new_end + (last - tail.old_end))
    before = slice(hunk.new_start - (hunk.old_start - first), hunk.new_end + (last - hunk.old_end))
    return Conflict(
        hunk=number,
        before=tuple(lines["before"][max(0, before.start) : before.stop]),
        after=tuple(lines["after"][first:last]),
        current=tuple(lines["current"][max(0, current.start) : current.stop]),
    )


def _edited(lines, edits):
    """Lines with some of their stretches replaced; the stretches lie apart."""
    at = 0
    for block, wanted in sorted(edits, key=lambda edit: (edit[0].old_start, edit[0].old_end)):
        yield from lines[at : block.old_start]
        yield from wanted
        at = block.old_end
    yield from lines[at:]
