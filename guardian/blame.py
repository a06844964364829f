"""Which write put each line of a file there: found from the hunks that were stored when each was written. Pure."""

from collections.abc import Iterable, Sequence

from .changes import Hunk


def blame(line_count: int, writes: Iterable[tuple[str, Sequence[Hunk]]]) -> list[str | None]:
    """For each of the lines that a file has now, the write that put it there; None: none of these did.

    `writes` are (id, hunks), the newest first, each leading from the state before it to the state after. Lines are
    followed back through the hunks of each write; what none of them added was there before the first.
    """
    found: list[str | None] = [None] * line_count
    # Stretches of lines whose write is not known yet: where each began in the newest state, and where it is now.
    open_ones = [(0, 0, line_count)] if line_count else []  # (first line now, first line then, length)
    for name, hunks in writes:
        if not open_ones:
            break
        open_ones = _before(open_ones, hunks, name, found)
    return found


def _before(stretches, hunks, name, found):
    """The same stretches in the state before a write, without the lines that it added, which are noted in `found`."""
    left, place, shift = [], 0, 0
    for now, then, length in stretches:
        end = then + length
        while place < len(hunks) and hunks[place][3] <= then:
            shift = hunks[place][1] - hunks[place][3]
            place += 1
        at = then
        step, moved = place, shift
        while at < end:
            if step < len(hunks) and hunks[step][2] <= at < hunks[step][3]:
                stop = min(end, hunks[step][3])
                found[now + at - then : now + stop - then] = [name] * (stop - at)
            else:
                stop = min(end, hunks[step][2]) if step < len(hunks) and hunks[step][2] > at else end
                left.append((now + at - then, at + moved, stop - at))
            at = stop
            if step < len(hunks) and at >= hunks[step][3]:
                moved = hunks[step][1] - hunks[step][3]
                step += 1
    return left
