"""Patterns of rules: which facts they match, and the pattern that is proposed for a fact. Pure.

A pattern is an expression of RE2, whose time grows with the text only. It is looked for anywhere in a fact; upper and
lower case are the same, letter by letter (`ß` is not `ss`). Both are compared as Unicode composes characters (NFC); of
a fact, every run of blanks and line ends counts as one blank, and characters that nobody sees do not count.

A pattern of several lines matches a fact that each line matches: RE2 looks neither ahead nor behind, so one expression
cannot ask for several words in any order. What phrases.py writes is such a pattern.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from artifacts.excerpts import patterns
from openclaw_web.errors import Refused

from . import phrases
from .phrases import LONGEST_FACT, MOST_LINES, normalise_fact

LONGEST = 300  # characters of a line of a pattern
LONGEST_PATTERN = MOST_LINES * (LONGEST + 1) - 1
MEMORY = 512 * 1024  # of one line, for the states it has been in
KEPT = 2_000  # compiled patterns: more than rules of all agents that are compared in turn
PROPOSED = 200  # characters of a proposal
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"[0-9]+")
_BREAKS = re.compile(r"\s*[\r\n]\s*")


@dataclass(frozen=True, slots=True)
class EncodedFact:
    """A fact that many patterns are compared with: as expressions see it, and as words see it."""

    plain: bytes
    folded: bytes


@dataclass(frozen=True, slots=True)
class Matcher:
    """A pattern that is ready: an expression for each line; `lines` are the words of a rule in words."""

    expressions: tuple[Any, ...]
    lines: phrases.Lines | None

    def matches(self, fact: EncodedFact) -> bool:
        """Whether every line is in a fact."""
        text = fact.plain if self.lines is None else fact.folded
        # The first alone decides mostly: every rule is asked about every fact that is imported.
        if self.expressions[0].search(text) is None:
            return False
        return all(expression.search(text) is not None for expression in self.expressions[1:])

    def find_missing(self, fact: EncodedFact) -> list[int]:
        """The places of those lines that are not in a fact, from 0."""
        text = fact.plain if self.lines is None else fact.folded
        return [place for place, expression in enumerate(self.expressions) if expression.search(text) is None]


def clean(pattern: str) -> str:
    """A pattern as it is stored: without empty lines and blanks around lines."""
    return _BREAKS.sub("\n", pattern.strip())


@lru_cache(maxsize=KEPT)
def compile_pattern(pattern: str) -> Matcher:
    """A pattern that is ready to match. Raises Refused for one that is none, or too big."""
    lines = phrases.read_pattern(pattern)
    if lines is not None:
        return Matcher(tuple(map(phrases.compile_line, lines)), lines)
    texts = unicodedata.normalize("NFC", pattern).split("\n")
    if len(texts) > MOST_LINES:
        raise Refused(_("A pattern has at most %(most)s lines.") % {"most": MOST_LINES})
    options = {"ignore_case": True, "longest": LONGEST, "memory": MEMORY}
    return Matcher(tuple(patterns.compile_pattern(text, **options) for text in texts), None)


def matches_text(pattern: str, fact: str) -> bool:
    """Whether a pattern matches a fact. Raises as `compiled`."""
    return compile_pattern(pattern).matches(encode_fact(fact))


def encode_fact(fact: str) -> EncodedFact:
    """A fact for `matches`: one fact that is compared with many patterns is made ready once."""
    text, folded = normalise_fact(fact), phrases.fold(fact)
    data = text.encode("utf-8", "replace")
    return EncodedFact(data, data if folded == text else folded.encode("utf-8", "replace"))


def matches_encoded(pattern: str, fact: EncodedFact) -> bool:
    """Whether a pattern matches a fact that `encoded` made ready. Raises as `compiled`."""
    return compile_pattern(pattern).matches(fact)


def propose_pattern(fact: str) -> str:
    """The pattern that is proposed for a fact, which it always matches: its words in their order, any number for a
    number, and whatever is no letter between them. Empty for a fact without a character."""
    text = normalise_fact(fact)
    words = [_of_word(word) for word in _WORD.findall(text)]
    if not words:
        return re.escape(text[: PROPOSED // 2])
    if len(words[0]) > PROPOSED:
        return _begun(_WORD.findall(text)[0])
    made = words[0]
    for word in words[1:]:
        longer = rf"{made}\W+{word}"
        if len(longer) > PROPOSED:
            break
        made = longer
    return made


def _of_word(word):
    return _DIGITS.sub("[0-9]+", word)


def _begun(word):
    """How a word begins that is too long: as many letters as fit, none of them a part of a number."""
    made = ""
    for piece in re.findall(r"[0-9]+|[^0-9]", word):
        longer = made + _of_word(piece)
        if len(longer) > PROPOSED:
            break
        made = longer
    return made


__all__ = [
    "LONGEST_FACT",
    "compile_pattern",
    "encode_fact",
    "matches_encoded",
    "matches_text",
    "normalise_fact",
    "propose_pattern",
]
