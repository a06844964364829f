"""A text prepared for RE2: its bytes, and their places counted in characters."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from typing import Any

import re2

# Of the same length, so that places stay. A line break ends a value also where it is written as an escape.
ESCAPES = (("\\n", " \n"), ("\\r", " \n"), ("\\t", "  "), ('\\"', ' "'))
MEMORY = 64 * 1024 * 1024  # of one pattern; with less RE2 forgets its states and is slow
# Up to this size one pass for all patterns is quicker than a call for each; beyond it the automaton of all grows.
MAX_SET_BYTES = 20_000
_SOURCES: list[bytes] = []  # of all patterns
_NUMBERS: dict[Any, int] = {}  # the place of each compiled pattern among them


def compile_pattern(pattern: str) -> Any:
    """A pattern of RE2 for `ScanText.find`: bytes of UTF-8, classes and word boundaries of ASCII."""
    compiled = re2.compile(pattern.encode(), _build_options())
    _NUMBERS.setdefault(compiled, len(_SOURCES))
    _SOURCES.append(pattern.encode())
    return compiled


def _build_options():
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    options.never_capture = True
    return options


@cache
def _build_set(count):
    """All patterns as one automaton: one pass tells which of them match."""
    patterns = re2.Set.SearchSet(_build_options())
    for source in _SOURCES[:count]:
        patterns.Add(source)
    patterns.Compile()
    return patterns


class ScanText:
    """A text and its UTF-8, in which half a character is a question mark."""

    def __init__(self, text: str) -> None:
        if "\\" in text:
            for escape, blank in ESCAPES:
                text = text.replace(escape, blank)
        self.text = text
        self.data = text.encode("utf-8", "replace")
        self._is_ascii = len(self.data) == len(text)
        self._places: dict[Any, array] = {}
        self._matching: frozenset[int] | None = None  # the numbers of patterns that match anywhere

    def may_match(self, pattern: Any = None) -> bool:
        """Whether a pattern, or any, may match somewhere; for large texts always true."""
        if len(self.data) > MAX_SET_BYTES:
            return True
        if self._matching is None:
            self._matching = frozenset(_build_set(len(_SOURCES)).Match(self.data) or ())
        return bool(self._matching) if pattern is None else _NUMBERS[pattern] in self._matching

    def find(self, pattern: Any, needs: bytes = b"") -> Iterator[tuple[int, int]]:
        """Yield start and end, in characters, of each match of a pattern of `compile_pattern`.

        `needs`: bytes of every match, which are looked for first because that is much faster.
        """
        if needs and needs not in self.data:
            return
        if not self.may_match(pattern):
            return
        matches = (match.span() for match in pattern.finditer(self.data))
        if self._is_ascii:
            yield from matches
            return
        chars = place = 0
        for start, end in matches:
            chars += len(self.data[place:start].decode("utf-8", "replace"))
            length = len(self.data[start:end].decode("utf-8", "replace"))
            yield chars, chars + length
            chars, place = chars + length, end

    def has_near(self, pattern: Any, start: int, end: int) -> bool:
        """Whether a match of a pattern of words begins between two places."""
        places = self._places.get(pattern)
        if places is None:
            places = self._places[pattern] = array("q", (match_start for match_start, _end in self.find(pattern)))
        number = bisect_left(places, start)
        return number < len(places) and places[number] < end
