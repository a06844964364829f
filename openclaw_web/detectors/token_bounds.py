"""Keeps findings within the strings of JSON, or makes them its whole numbers."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from .json_layers import Layer, find_tokens
from .spans import CUSTOM, PRIVATE_KEY, Span

_NUMBER = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,4})?")
_NUMBER_START = re.compile(r"[0-9.eE+-]{0,48}\Z")
_AFTER_KEY = re.compile(r'"[ \t\r\n]{0,200}:[ \t\r\n]{0,200}\Z')
_IN_LIST = re.compile(r"[\[,:][ \t\r\n]{0,200}\Z")
_AFTER = re.compile(r"[ \t\r\n]*+(?:[,}\]\0]|\Z)")
_LIMITS = re.compile(r"[\0\x01\x02\"]")
_BREAK = re.compile(r"[\0\x01]")
_BREAKS = re.compile(r"[\0\x01\x02]+")
_LETTER = re.compile(r"\w")
# A list or object of JSON, or several: strings, numbers and words between their signs.
_JSON = re.compile(
    r"[\s\ufeff]*+(?=[\[{])(?:[ \t\r\n\[\]{},]++|\"(?:[^\"\\\x00\x01\x03-\x1f]++|\\.)*+\"(?:[ \t\r\n]*+:)?|"
    r"(?:-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?|true|false|null)(?=[ \t\r\n]*+[,\]}]))*+(?=[\0\x01]|\Z)"
)
_REACH = 256  # characters before a number in which its key ends


class TokenBounds:
    """The tokens of a layer, computed when a finding needs them."""

    def __init__(self, layer: Layer) -> None:
        self.text = layer.text
        self._depth = layer.depth
        self._parsed: dict[tuple[int, int], bool] = {}

    def fit(self, span: Span) -> Iterator[Span]:
        """Yield the parts of a finding whose replacement leaves the JSON around them valid."""
        if span.kind in (CUSTOM, PRIVATE_KEY):
            for start, end in self._split(span.start, span.end):
                yield from self._fit_number(span._replace(start=start, end=end))
        elif not _LIMITS.search(self.text, span.start, span.end):
            yield from (part for part in self._fit_number(span) if part.is_bare or self._is_text(part.start))
        elif not _BREAKS.search(self.text, span.start, span.end) and not self._crosses(span.start, span.end):
            yield span

    def _fit_number(self, span):
        """The finding, or the number of JSON that it is or, if custom, touches."""
        if not self.text[span.start].isdigit() and self.text[span.start] not in "-+.eE":
            yield span
            return
        before = _NUMBER_START.search(self.text, max(0, span.start - 48), span.start)
        number = _NUMBER.match(self.text, before.start())
        quote = self._find_quote(number.start(), number.end()) if number and number.end() >= span.end else None
        if not quote:
            yield span
        elif number.span() == (span.start, span.end) or span.kind == CUSTOM:
            yield span._replace(start=number.start(), end=number.end(), is_bare=True, quote=quote)

    def _find_quote(self, start, end):
        """The quotation mark that makes a number of JSON a string; None for other text."""
        near = max(0, start - _REACH)
        is_value = bool(_AFTER_KEY.search(self.text, near, start))
        if not _AFTER.match(self.text, end) or not (is_value or _IN_LIST.search(self.text, near, start)):
            return None
        token = self._find_token(start)
        if token:  # a list of numbers in a string needs no escapes, so the string is not decoded
            return _build_quote(self._depth + 1) if self._is_json(*token) else None
        return _build_quote(self._depth) if is_value or self._is_in_json(start) else None

    def _is_text(self, place):
        """Whether a place is in a string or in prose, not among the signs of JSON."""
        return not self._is_in_json(place) or self._find_token(place) is not None

    def _is_in_json(self, place):
        """Whether the text, or the decoded string, that holds a place is JSON."""
        number = bisect_right(self._begins, place) - 1
        return self._is_json(self._begins[number], len(self.text))

    def _is_json(self, start, end):
        if (start, end) not in self._parsed:
            self._parsed[start, end] = bool(_JSON.match(self.text, start, end))
        return self._parsed[start, end]

    @cached_property
    def _begins(self):
        return array("q", [0, *(match.end() for match in _BREAK.finditer(self.text))])

    @cached_property
    def _tokens(self):
        return list(find_tokens(self.text))

    def _find_token(self, place):
        number = bisect_right(self._tokens, (place, len(self.text) + 1)) - 1
        return self._tokens[number] if number >= 0 and place <= self._tokens[number][1] else None

    def _crosses(self, start, end):
        """Whether a token begins or ends within."""
        number = bisect_right(self._tokens, (start, len(self.text) + 1)) - 1
        if number >= 0 and start <= self._tokens[number][1] < end:
            return True
        return number + 1 < len(self._tokens) and self._tokens[number + 1][0] <= end

    def _split(self, start, end):
        """The parts of a match in strings and prose, and the numbers of JSON in it."""
        place = start
        number = max(0, bisect_right(self._tokens, (start, len(self.text) + 1)) - 1)
        while number < len(self._tokens) and self._tokens[number][0] <= end:
            token_start, token_end = self._tokens[number]
            number += 1
            if token_end < start:
                continue
            yield from self._cut(place, min(token_start - 1, end))
            part = max(token_start, start), min(token_end, end)
            if self._is_json(token_start, token_end):
                yield from self._find_numbers(*part)
            elif part[0] < part[1]:
                yield part
            place = token_end + 1
        yield from self._cut(place, end)

    def _cut(self, start, end):
        """The parts between breaks that are outside of tokens; of JSON its numbers."""
        while start < end:
            cut = _BREAKS.search(self.text, start, end)
            stop = cut.start() if cut else end
            if self._is_in_json(start):
                yield from self._find_numbers(start, stop)
            elif _LETTER.search(self.text, start, stop):
                yield start, stop
            start = cut.end() if cut else end

    def _find_numbers(self, start, end):
        return (match.span() for match in _NUMBER.finditer(self.text, start, end))


def _build_quote(depth):
    """A quotation mark with the backslashes that it needs at a depth of JSON in JSON."""
    return "\\" * (2**depth - 1) + '"'
