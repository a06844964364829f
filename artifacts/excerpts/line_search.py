"""Finds lines of a content that match an expression, with their numbers.

Memory is flat and work is bounded for any content and expression.
"""

import time
from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

BLOCK = 1024 * 1024  # a longer line is searched in pieces of this
STEP = 64 * 1024  # about so much is searched at once; the time that it took is checked after each
# Of processor time; a gigabyte takes a word 2. RE2 is linear, but with some expressions a thousand times slower.
SECONDS = 10
LINE = 400  # characters shown of a long line, around what matched
MAX_CONTEXT = 20
MAX_MATCHES = 500_000  # lines; more would be many seconds of work for an answer that nobody reads


class Grep:
    """A search whose `pieces()` are `12:a match` and `11-a line beside it`.

    `matches`, and `cut`, the number of long lines that were cut, are known afterwards.
    """

    def __init__(self, pattern, *, context: int = 0):
        self._pattern = pattern
        self._context = context
        self._number = 1  # of the first line that was not searched
        self._last_given = 0  # number of the last line that was given
        self._pending = 0  # lines still to give after a match
        self._spent = 0.0  # seconds of searching
        self.matches = 0
        self.cut = 0

    def pieces(self, chunks: Iterable[bytes]) -> Iterator[str]:
        """Every matching line as text, in order. `chunks` are the content.

        Raises Refused for more than MAX_MATCHES, and when searching took SECONDS.
        """
        searched = b""  # searched lines that may be needed before a match
        for block in _split_blocks(chunks):
            data, place = searched + block, len(searched)
            while place < len(data):
                stop = _find_line_end(data, min(place + STEP, len(data)) - 1)
                started = time.thread_time()
                yield from self._search(data, place, stop)
                self._spent += time.thread_time() - started
                self._number += data.count(b"\n", place, stop)
                if self._spent > SECONDS:
                    raise _build_time_refusal(self._number)
                place = stop
            searched = _cut_last_lines(data, self._context)

    def _search(self, data, place, stop):
        number = self._number
        while place < stop:
            match = self._pattern.search(data, place, stop)
            start = max(place, data.rfind(b"\n", place, match.start()) + 1) if match else stop
            match = (
                match if start < stop else None
            )  # an expression that matches nothing also matches after the last line
            while self._pending and place < start:
                end = _find_line_end(data, place)
                yield self._format_line(data[place:end], number, "-")
                place, number, self._pending = end, number + 1, self._pending - 1
            if not match:
                return
            number += data.count(b"\n", place, start)
            end = _find_line_end(data, start)
            yield from self._give_before(data, start, number)
            yield self._format_line(data[start:end], number, ":", match.start() - start)
            self.matches += 1
            if self.matches > MAX_MATCHES:
                raise Refused(_("This pattern matches more than %(most)s lines.") % {"most": f"{MAX_MATCHES:,}"})
            place, number, self._pending = end, number + 1, self._context

    def _give_before(self, data, start, number):
        """The lines before a match that were not given yet.

        A mark stands where lines between were left out.
        """
        place, first = start, number
        while place and first > self._last_given + 1 and number - first < self._context:
            place = data.rfind(b"\n", 0, place - 1) + 1
            first -= 1
        if self._context and self._last_given and first > self._last_given + 1:
            yield "--\n"
        for offset, line in enumerate(data[place:start].split(b"\n")[:-1]):
            yield self._format_line(line, first + offset, "-")

    def _format_line(self, line, number, sign, match=0):
        self._last_given = number
        text = line.rstrip(b"\r\n").decode("utf-8", "replace")
        if len(text) > LINE:
            self.cut += 1
            start = max(0, min(len(line[:match].decode("utf-8", "replace")) - LINE // 4, len(text) - LINE))
            text = f"{'…' if start else ''}{text[start : start + LINE]}{'…' if start + LINE < len(text) else ''}"
        return f"{number}{sign}{text}\n"


def _build_time_refusal(number):
    details = {"seconds": SECONDS, "line": f"{number:,}"}
    return Refused(
        _(
            "The search took more than %(seconds)s seconds and stopped at line %(line)s. Use fewer "
            "repetitions in the pattern."
        )
        % details
    )


def _split_blocks(chunks):
    """The content in blocks that end with a line.

    A line that is longer than a block is split.
    """
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        end = data.rfind(b"\n") + 1
        if not end and len(data) >= BLOCK:
            end = len(data)
        if end:
            yield data[:end]
        rest = data[end:]
    if rest:
        yield rest


def _find_line_end(data, start):
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end + 1


def _cut_last_lines(data, count):
    """The last `count` lines of data, with their line breaks."""
    place = len(data)
    for _format_line in range(count):
        if not place:
            break
        place = data.rfind(b"\n", 0, place - 1) + 1
    return data[place:]
