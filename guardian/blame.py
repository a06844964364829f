"""Which write put each line of a file there: found from the hunks that were stored when each was written. Pure."""

from collections.abc import Iterable, Sequence

from .changes import Hunk


def blame(line_count: int, writes: Iterable[tuple[str, Sequence[Hunk]]]) -> list[str | None]:
    """For each of the lines that a file has now, the write that put it there; None: none of these did.

    `writes` are (id, hunks), the newest first, each leading from the state before it to the state after. They are
    carried out again on lines of nobody: what none of them added was there before the first.
    """
    known = list(writes)
    grown = sum(hunk[3] - hunk[2] - hunk[1] + hunk[0] for _name, hunks in known for hunk in hunks)
    lines: list[str | None] = [None] * (line_count - grown)
    for name, hunks in reversed(known):
        for old_start, old_end, new_start, new_end in reversed(hunks):
            lines[old_start:old_end] = [name] * (new_end - new_start)
    return lines
