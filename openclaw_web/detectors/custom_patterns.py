"""Patterns that operators add: compiled with RE2, refused where they would match everything or nothing.

The default patterns of the spec name assignments, whose values are found without them; they become no pattern.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import re2

from .scan_text import Budget, count_chars

NAMES_OF_ASSIGNMENTS = frozenset(["api[_-]?key", "password", "token", "secret", "-----BEGIN.*-----"])
MAX_PATTERNS, MAX_CHARS, MAX_SIZE = 100, 500, 3_000  # MAX_SIZE: instructions of RE2
WINDOW, STEPS = 4_096, 36  # bytes in which a match is looked for first, and what each match takes from the budget
MOST_SHARE = 0.5  # of the characters of ORDINARY that a pattern may match
ORDINARY = (
    "Please check the report of Tuesday and send the three largest numbers to the team, then write a short summary. "
    "The build took 12 minutes; two tests failed. 请检查昨天的报告，然后写一个简短的总结。一共有三个问题需要处理。"
)


def N_(sentence: str) -> str:
    """Mark a sentence for translators, by the name that they look for."""
    return sentence


EVERYTHING = N_("The pattern %(pattern)s would match most of an ordinary sentence, and redact nearly every text.")
EMPTY = N_("The pattern %(pattern)s would match the empty text, which is everywhere.")
NOTHING = N_("The pattern %(pattern)s would match nothing: no text can satisfy it.")
UNKNOWN = N_("The pattern %(pattern)s is no regular expression of RE2: %(reason)s")
BLANK = N_("An empty pattern would match everywhere.")
LARGE = N_("The pattern %(pattern)s is too large: use fewer repetitions and at most 500 characters.")
MANY = N_("There are %(count)s patterns; at most 100 can be searched for.")


_ESCAPED = re.compile(r"\\[^zA]|\[[^\]]*\]")  # these hold no signs of a place
_BEYOND = re.compile(r"(?:\$|\\z)[A-Za-z0-9^](?![?*{])")


class UnusablePatternError(ValueError):
    """A pattern that is refused: `sentence` has places for `values`; whoever shows it translates it first."""

    def __init__(self, sentence: str, **values: object) -> None:
        super().__init__(sentence % values)
        self.sentence = sentence
        self.values = values


class CustomPatterns:
    """Compiled patterns of an operator; `find` gives what they match."""

    def __init__(self, patterns: Sequence[tuple[str, Any]] = ()) -> None:
        self.patterns = tuple(patterns)

    def find(self, text: str, budget: Budget) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and pattern of each match that is not empty."""
        data = text.encode("utf-8", "replace") if self.patterns else b""
        for pattern, compiled in self.patterns:
            for start, end in count_chars(data, _match_in_windows(compiled, data, budget)):
                yield start, end, pattern


def _match_in_windows(compiled, data, budget):
    """Yield the matches of a pattern, each looked for in a window that grows until it holds one.

    RE2 reads on behind a match as long as it might become longer: to the end of the text for each, without windows.
    """
    place, size = 0, WINDOW
    while place < len(data):
        stop = min(place + size, len(data))
        match = compiled.search(data, place, stop)
        if stop < len(data) and (match is None or match.end() == stop):
            size *= 2
            continue
        if match is None:
            return
        budget.spend(STEPS)
        if match.end() > match.start():
            yield match.span()
        place, size = max(match.end(), place + 1), WINDOW


def compile_patterns(texts: Sequence[str]) -> CustomPatterns:
    """Compile the patterns of an operator; the names of assignments among them are passed over.

    Raises UnusablePatternError with a sentence that says what a pattern would do.
    """
    custom = [text for text in texts if text not in NAMES_OF_ASSIGNMENTS]
    if len(custom) > MAX_PATTERNS:
        raise UnusablePatternError(MANY, count=len(custom))
    return CustomPatterns([(text, _compile_pattern(text)) for text in dict.fromkeys(custom)])


def _compile_pattern(text):
    if not text.strip():
        raise UnusablePatternError(BLANK)
    if len(text) > MAX_CHARS:
        raise UnusablePatternError(LARGE, pattern=text[:60] + "…")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        pattern = text.encode("utf-8", "replace").decode()
        raise UnusablePatternError(UNKNOWN, pattern=pattern, reason=reason) from error
    if compiled.programsize > MAX_SIZE:
        raise UnusablePatternError(LARGE, pattern=text)
    if _is_impossible(text, compiled):
        raise UnusablePatternError(NOTHING, pattern=text)
    if compiled.search("") is not None or compiled.fullmatch("") is not None:
        raise UnusablePatternError(EMPTY, pattern=text)
    if any(match.start() == match.end() for match in compiled.finditer(ORDINARY)):
        raise UnusablePatternError(EMPTY, pattern=text)
    matched = sum(match.end() - match.start() for match in compiled.finditer(ORDINARY))
    if matched > MOST_SHARE * len(ORDINARY):
        raise UnusablePatternError(EVERYTHING, pattern=text)
    return compiled


def _is_impossible(text, compiled):
    """Whether no text can match: an empty class, letters before its beginning or after its end."""
    if compiled.programsize <= 1:
        return True
    plain = _ESCAPED.sub("-", text)
    return "(?m" not in text and bool(_BEYOND.search(plain) or re.search(r"[A-Za-z0-9](?:\^|\\A)", plain))
