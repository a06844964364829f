"""Excerpts of a text with line numbers, small enough for a page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .line_diff import split_lines
from .line_pieces import LONGEST, shorten_text

LINES = 1_000
CHARACTERS = 120_000


@dataclass(frozen=True, slots=True)
class TextExcerpt:
    """Lines `first` to `last` (counted from 1) of `count`; `lines` are without their endings."""

    lines: list[str]
    first: int
    count: int

    @property
    def last(self):
        """The number of the last line."""
        return self.first + len(self.lines) - 1

    @property
    def next(self):
        """The number of the line after the excerpt, or None at the end of the text."""
        return self.last + 1 if self.last < self.count else None

    @property
    def rows(self):
        """Every line as its number, its shown text and the number of characters left out."""
        return build_rows(enumerate(self.lines, start=self.first))

    @property
    def is_whole(self):
        """Whether the excerpt is the whole text."""
        return self.first == 1 and self.next is None


def build_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, int]]:
    """Yield each line as its number, its shown text and the number of characters left out.

    The lines come without their endings.
    """
    for number, line in lines:
        text, _is_marked, left_out, _rest = shorten_text(line, LONGEST)
        yield number, text, left_out


def cut_excerpt(text: str, first: int = 1) -> TextExcerpt:
    """The excerpt of a text that begins with line `first`.

    It has one line at least, and none where the text has none.
    """
    lines = split_lines(text)
    excerpt: list[str] = []
    characters = 0
    for line in lines[first - 1 : first - 1 + LINES]:
        characters += min(len(line), LONGEST)
        if excerpt and characters > CHARACTERS:
            break
        excerpt.append(line.removesuffix("\n").removesuffix("\r"))
    return TextExcerpt(excerpt, first, len(lines))
