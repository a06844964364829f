"""Windows into a text that comes in pieces.

No more of the text is in memory than a window may show.
"""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import previews


@dataclass(slots=True)
class TextSize:
    """The size of a part of a text."""

    chars: int = 0
    lines: int = 0  # line breaks

    def take(self, text: str) -> None:
        self.chars += len(text)
        self.lines += text.count("\n")


@dataclass(slots=True)
class TextWindow:
    """The shown text, and the sizes of what was left out before, between and after it."""

    text: str
    before: TextSize
    between: TextSize
    after: TextSize


def decode_chunks(chunks: Iterable[bytes]) -> Iterator[str]:
    """UTF-8 in chunks as text in pieces; bad bytes are replaced."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for chunk in chunks:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def read_from_offset(pieces: Iterable[str], offset: int, cap: int, *, at_line: bool = False) -> TextWindow:
    """A window of `cap` characters from `offset` on.

    With `at_line`, it is cut after the last line that is whole, if there is one.
    """
    before, after, visible_pieces, length = TextSize(), TextSize(), [], 0
    for piece in pieces:
        skipped = min(len(piece), offset - before.chars)
        before.take(piece[:skipped])
        visible = piece[skipped : skipped + cap - length]
        visible_pieces.append(visible)
        length += len(visible)
        after.take(piece[skipped + len(visible) :])
    text = "".join(visible_pieces)
    if at_line and after.chars and (end := text.rfind("\n") + 1):
        after.take(text[end:])
        text = text[:end]
    return TextWindow(text, before, TextSize(), after)


def read_last(pieces: Iterable[str], cap: int) -> TextWindow:
    """The last `cap` characters."""
    before, end = TextSize(), ""
    for piece in pieces:
        joined = end + piece
        cut = max(0, len(joined) - cap)
        before.take(joined[:cut])
        end = joined[cut:]
    return TextWindow(end, before, TextSize(), TextSize())


def read_both_ends(pieces: Iterable[str], cap: int) -> TextWindow:
    """A window of all of a text, or of its beginning and end around a mark.

    All of the text is shown when it has at most `cap` characters.
    """
    first, ending = previews.split_cap(cap)
    head = _Head(pieces, cap)
    tail = read_last(head.rest(), cap)
    if not tail.before.chars and len(head.text) + len(tail.text) <= cap:
        return TextWindow(head.text + tail.text, TextSize(), TextSize(), TextSize())
    between = TextSize()
    beyond = head.text[first:] + tail.text if not tail.before.chars else tail.text
    between.take(head.text[first:] if tail.before.chars else "")
    between.chars += tail.before.chars
    between.lines += tail.before.lines
    between.take(beyond[: len(beyond) - ending])
    visible = head.text[:first] + previews.GAP + beyond[len(beyond) - ending :] if ending else head.text[:first]
    return TextWindow(visible, TextSize(), between if ending else TextSize(), TextSize() if ending else between)


class _Head:
    """The first `cap` characters of a text in pieces, and then the rest of it, once."""

    def __init__(self, pieces: Iterable[str], cap: int):
        self._pieces = iter(pieces)
        text = ""
        for piece in self._pieces:
            text += piece
            if len(text) >= cap:
                break
        self.text, self._over = text[:cap], text[cap:]

    def rest(self) -> Iterator[str]:
        yield self._over
        yield from self._pieces
