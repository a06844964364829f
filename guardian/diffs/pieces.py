"""The text of a file with line numbers, in pieces that a page can hold."""

from dataclasses import dataclass

from .comparing import lines_of

LINES = 1_000
CHARACTERS = 120_000
LONGEST = 4_000  # characters that are shown of one line


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines `first` to `last` (counted from 1) of `count`; `lines` are without their endings."""

    lines: list[str]
    first: int
    count: int

    @property
    def last(self):
        """The number of its last line."""
        return self.first + len(self.lines) - 1

    @property
    def next(self):
        """The number of the line that comes after it, None at the end."""
        return self.last + 1 if self.last < self.count else None

    @property
    def is_whole(self):
        """Whether it is the whole file."""
        return self.first == 1 and self.next is None


def piece(text: str, first: int = 1) -> Piece:
    """The piece of a text that begins with line `first`; one line at least, and none where the text has none."""
    lines = lines_of(text)
    shown: list[str] = []
    characters = 0
    for line in lines[first - 1 : first - 1 + LINES]:
        characters += min(len(line), LONGEST)
        if shown and characters > CHARACTERS:
            break
        shown.append(line.removesuffix("\n").removesuffix("\r"))
    return Piece(shown, first, len(lines))
