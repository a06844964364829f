"""Compares two texts word by word: kept, removed and added pieces in order. Pure.

The kept and removed pieces, put together, are the old text; the kept and added ones the new. Lines are compared first
(`openclaw_web.diffs`) and words only within what changed; what would take too long is one removed and one added piece.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from openclaw_web.diffs.line_diff import compare, count_shared_ends
from openclaw_web.diffs.word_marks import WORDS, Effort

KEPT, REMOVED, ADDED = "kept", "removed", "added"
STEPS = 3_000_000  # of difflib: tens of milliseconds at the most, as it is asked for while somebody types
MOST_LINES = 5_000  # changed lines that are compared each with its own, where all of them together take too long
TOKENS = re.compile(rf"(?:{WORDS.pattern})(?<! ) ?|.", re.DOTALL)  # with the blank behind it: half as many to compare


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a text, and whether it was kept, removed or added."""

    kind: str
    text: str


def compare_words(old: str, new: str) -> list[Piece]:
    """The pieces of both texts in order; neighbours differ in kind, and none is empty."""
    diff, effort = compare(old, new), Effort(STEPS)
    merged_pieces: list[Piece] = []
    for block in diff.blocks:
        before = diff.old_lines[block.old_start : block.old_end]
        after = diff.new_lines[block.new_start : block.new_end]
        for kind, text in [(KEPT, "".join(before))] if block.is_same else _compare_changed(before, after, effort):
            if text and merged_pieces and merged_pieces[-1].kind == kind:
                merged_pieces[-1] = Piece(kind, merged_pieces[-1].text + text)
            elif text:
                merged_pieces.append(Piece(kind, text))
    return merged_pieces


def _compare_changed(before: list[str], after: list[str], effort: Effort) -> Iterator[tuple[str, str]]:
    left, right = TOKENS.findall("".join(before)), TOKENS.findall("".join(after))
    start, end = count_shared_ends(left, right)
    middle = left[start : len(left) - end], right[start : len(right) - end]
    is_granted = effort.grants(*middle)
    if 1 < len(before) == len(after) <= MOST_LINES and not is_granted:  # as many lines: each beside its own
        for old_line, new_line in zip(before, after, strict=True):
            yield from _compare_changed([old_line], [new_line], effort)
        return
    yield KEPT, "".join(left[:start])
    yield from _compare_tokens(*middle) if is_granted else _trim_replaced(*middle)
    yield KEPT, "".join(left[len(left) - end :])


def _compare_tokens(left, right):
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            yield KEPT, "".join(left[i1:i2])
        else:
            yield from _trim_replaced(left[i1:i2], right[j1:j2])


def _trim_replaced(left, right):
    """Yield a replacement without the words that both sides begin or end with.

    Tokens include the blank behind a word, so that words and blanks are compared once more.
    """
    left, right = WORDS.findall("".join(left)), WORDS.findall("".join(right))
    start, end = count_shared_ends(left, right)
    yield KEPT, "".join(left[:start])
    yield REMOVED, "".join(left[start : len(left) - end])
    yield ADDED, "".join(right[start : len(right) - end])
    yield KEPT, "".join(left[len(left) - end :])
