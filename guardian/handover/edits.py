"""Describes a change of a text as edits that each replace one place. Pure.

The old text of an edit occurs exactly once where its turn comes.
"""

from dataclasses import dataclass

from openclaw_web.diffs.line_diff import compare, split_lines

MOST_CONTEXT = 40  # lines on each side that make a place unique


@dataclass(frozen=True, slots=True)
class Edit:
    """One place of a text, and its new content."""

    old: str
    new: str


def find_edits(before: str, after: str) -> list[Edit] | None:
    """Return the edits that turn one text into another, in the order to apply.

    None where a place cannot be told from others.

    The last place comes first, so that each edit finds the lines before it as they were.
    """
    lines, new_lines = split_lines(before), split_lines(after)
    edits: list[Edit] = []
    for block in reversed(compare(before, after).blocks):
        if block.is_same:
            continue
        new = new_lines[block.new_start : block.new_end]
        edit = _build_unique_edit(lines, block.old_start, block.old_end, new)
        if edit is None:
            return None
        edits.append(edit)
        lines[block.old_start : block.old_end] = new
    return edits if apply_edits(before, edits) == after else None


def apply_edits(text: str, edits: list[Edit]) -> str | None:
    """Return the text after these edits; None when a place is not there exactly once."""
    for edit in edits:
        if not edit.old or _count(text, edit.old) != 1:
            return None
        text = text.replace(edit.old, edit.new)
    return text


def _build_unique_edit(lines, start, end, new):
    """Return an edit with as many lines around it as make its place unique."""
    text = "".join(lines)
    for width in range(MOST_CONTEXT + 1):
        first, last = max(0, start - width), min(len(lines), end + width)
        old = "".join(lines[first:last])
        if old and _count(text, old) == 1:
            return Edit(old, "".join((*lines[first:start], *new, *lines[end:last])))
        if first == 0 and last == len(lines):
            return None
    return None


def _count(text, part):
    """Count how often a part occurs, overlaps included; two at most.

    A search from the end has to find the same place.
    """
    count, at = 0, text.find(part)
    while at >= 0 and count < 2:
        count, at = count + 1, text.find(part, at + 1)
    return count
