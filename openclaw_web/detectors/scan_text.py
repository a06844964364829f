"""A text prepared for RE2: its bytes, and their places counted in characters."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from string import ascii_letters, digits
from typing import Any

import re2

from .spans import Span

# Of the same length, so that places stay. A line break ends a value also where it is written as an escape.
ESCAPES = (("\\n", " \n"), ("\\r", " \n"), ("\\t", "  "), ('\\"', ' "'))
# Letters, digits and signs of addresses as Chinese keyboards write them, in UTF-8: ＠０-９Ａ-Ｚａ-ｚ.
_FULL_WIDTH = re.compile(rb"\xef(?:\xbc[\x90-\x99\xa0-\xba]|\xbd[\x81-\x9a])")
_NARROW = {ord(sign) + 0xFEE0: sign for sign in f"{ascii_letters}{digits}@._%+-"}
MEMORY = 64 * 1024 * 1024  # of one pattern; with less RE2 forgets its states and is slow
# Up to this size one pass for all patterns is quicker than a call for each; beyond it the automaton of all grows.
MAX_SET_BYTES = 20_000
# Patterns of a group are one automaton; the states of all together would not fit its memory. With each group goes
# what all its matches hold: a text without it is not searched for them.
GROUPS = {"words": b"", "keys": b"", "addresses": b"@"}
# A step is about a microsecond. Of plain text a character takes a sixth of one, so that a text over its budget has
# taken some fifteen times as long.
STEPS_OF_CHAR, STEPS_OF_TEXT, STEPS_OF_MATCH, STEPS_OF_WORD = 1.75, 20_000, 14, 3
# A list of nothing but addresses and telephone numbers is searched to its end: what these take is given back.
STEPS_GIVEN_BACK_OF_CHAR = 1
_SOURCES: list[tuple[str, bytes]] = []  # group and text of all patterns
_NUMBERS: dict[Any, int] = {}  # the place of each compiled pattern among them
# Finders with the numbers of their patterns: where none of these matches, a finder is not asked.
FINDERS: list[tuple[frozenset[int], Callable[["ScanText"], Iterator[Span]]]] = []


def compile_pattern(pattern: str, group: str = "words") -> Any:
    """A pattern of RE2 for `ScanText.find`: bytes of UTF-8, classes and word boundaries of ASCII.

    `group`: of GROUPS; not "words" for a pattern with long repetitions, of which many can be under way at once.
    """
    compiled = re2.compile(pattern.encode(), _build_options())
    _NUMBERS.setdefault(compiled, len(_SOURCES))
    _SOURCES.append((group, pattern.encode()))
    return compiled


def _build_options():
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    options.never_capture = True
    return options


def finder(*patterns: Any) -> Callable[..., Any]:
    """Add a function to FINDERS, which finds nothing in a text that none of some patterns matches."""

    def add(find):
        FINDERS.append((frozenset(map(_NUMBERS.__getitem__, patterns)), find))
        return find

    return add


@cache
def _build_sets(count):
    """Each group: the text that a match holds, its patterns of the first `count` as one automaton, their numbers."""
    sets = []
    for group, needs in GROUPS.items():
        patterns, numbers = re2.Set.SearchSet(_build_options()), []
        for number, (its_group, source) in enumerate(_SOURCES[:count]):
            if its_group == group:
                patterns.Add(source)
                numbers.append(number)
        patterns.Compile()
        sets.append((needs, patterns, numbers))
    return sets


_share = lru_cache(maxsize=2_000)(frozenset)  # lines of a transcript are alike: their hash is computed once


def count_chars(data: bytes, matches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield start and end of matches in characters instead of bytes of UTF-8."""
    chars = place = 0
    for start, end in matches:
        chars += len(data[place:start].decode("utf-8", "replace"))
        length = len(data[start:end].decode("utf-8", "replace"))
        yield chars, chars + length
        chars, place = chars + length, end


class BudgetExceeded(Exception):
    """A text has so many candidates that a search to its end would take too long for its length."""


class Budget:
    """The steps that the search of one text may take, in proportion to its length."""

    def __init__(self, length: int) -> None:
        self.steps = STEPS_OF_TEXT + int(STEPS_OF_CHAR * length)
        self.most_given_back = STEPS_GIVEN_BACK_OF_CHAR * length

    def spend(self, steps: int = STEPS_OF_MATCH) -> None:
        """Take steps from the budget; raises BudgetExceeded when it has none left."""
        self.steps -= steps
        if self.steps < 0:
            raise BudgetExceeded

    def give_back(self, steps: int) -> None:
        """Return steps that a finding took, of which many are legitimate, as far as the length of the text allows."""
        steps = min(steps, self.most_given_back)
        self.most_given_back -= steps
        self.steps += steps


class ScanText:
    """A text and its UTF-8, in which half a character is a question mark."""

    def __init__(self, text: str, budget: Budget) -> None:
        if "\\" in text:
            for escape, blank in ESCAPES:
                text = text.replace(escape, blank)
        data = text.encode("utf-8", "replace")
        self._is_ascii = len(data) == len(text)
        if not self._is_ascii and _FULL_WIDTH.search(data):
            text = text.translate(_NARROW)
            data = text.encode("utf-8", "replace")
        self.text, self.data, self.budget = text, data, budget
        self._places: dict[Any, array] = {}
        self.matching: frozenset[int] | None = None  # the numbers of patterns that match; None: not known
        if len(data) <= MAX_SET_BYTES:
            # The numbers of all patterns that match: one pass for each group.
            numbers: tuple[int, ...] = ()
            for needs, patterns, group_numbers in _build_sets(len(_SOURCES)):
                if needs in data and (places := patterns.Match(data)):
                    numbers += tuple([group_numbers[place] for place in places])
            self.matching = _share(numbers)

    def find(self, pattern: Any, needs: bytes = b"", steps: int = STEPS_OF_MATCH) -> Iterable[tuple[int, int]]:
        """Start and end, in characters, of each match of a pattern of `compile_pattern`.

        `needs`: bytes of every match, which are looked for first because that is much faster. Each match takes
        steps from the budget.
        """
        # No generator where nothing matches: most texts ask for most patterns in vain.
        if self.matching is not None and _NUMBERS[pattern] not in self.matching:
            return ()
        if needs and needs not in self.data:
            return ()
        matches = self._match(pattern, steps)
        return matches if self._is_ascii else count_chars(self.data, matches)

    def _match(self, pattern, steps):
        for match in pattern.finditer(self.data):
            self.budget.spend(steps)
            yield match.span()

    def ends_with(self, pattern: re.Pattern[str], place: int, reach: int) -> bool:
        """Whether the characters before a place end as a pattern says; each of them takes a step."""
        self.budget.spend(reach)
        return pattern.search(self.text, max(0, place - reach), place) is not None

    def has_near(self, pattern: Any, start: int, end: int) -> bool:
        """Whether a match of a pattern of words begins between two places."""
        places = self._places.get(pattern)
        if places is None:
            starts = (match_start for match_start, _end in self.find(pattern, steps=STEPS_OF_WORD))
            places = self._places[pattern] = array("q", starts)
        number = bisect_left(places, start)
        return number < len(places) and places[number] < end
