"""Splits a line into the pieces that a page shows, with long pieces shortened.

Pure functions.
"""

from .word_marks import Part

LONGEST = 4_000  # characters that are shown of a line
LONG_LINE = 2_000  # from here on the unchanged pieces of a line are shortened
KEPT = 120  # characters at each end of a shortened piece

# The text, whether it is marked as changed, how many characters are left out after it, and the text after those.
LinePiece = tuple[str, bool, int, str]


def split_line(text: str, parts: tuple[Part, ...], ending: str) -> list[LinePiece]:
    """Split a line into pieces; without `parts` it is one piece, without its `ending`."""
    if not parts:
        return [shorten_text(text.removesuffix(ending), LONGEST)]
    *before, (last, is_changed) = parts
    rest = last.removesuffix(ending).removesuffix("\n")
    is_long = len(text) > LONG_LINE
    return [
        shorten_text(part, LONG_LINE, is_marked=True)
        if is_marked
        else _shorten_middle(part)
        if is_long
        else (part, False, 0, "")
        for part, is_marked in (*before, (rest, is_changed))
        if part
    ]


def shorten_text(text: str, most: int, *, is_marked: bool = False) -> LinePiece:
    """A text as one piece of at most `most` characters."""
    return text[:most], is_marked, max(len(text) - most, 0), ""


def _shorten_middle(text):
    left_out = len(text) - 2 * KEPT
    return (text[:KEPT], False, left_out, text[-KEPT:]) if left_out > 0 else (text, False, 0, "")
