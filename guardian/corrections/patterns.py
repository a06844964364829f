"""Patterns of rules: matching facts, and proposing a pattern for a fact.

A pattern is an expression of RE2, whose time grows with the text only. It is searched anywhere in a fact; upper and
lower case are the same, letter by letter (`ß` is not `ss`). Both are compared as Unicode composes characters (NFC); of
a fact, every run of blanks and line ends counts as one blank, and characters that nobody sees do not count.

A pattern of several lines matches a fact that each line matches: RE2 looks neither ahead nor behind, so one expression
cannot require several words in any order. `phrases.write_pattern` returns such a pattern. All functions are pure.
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
MEMORY = 512 * 1024  # bytes of one line's expression, for the states it has been in
KEPT = 2_000  # compiled patterns: more than rules of all agents that are compared in turn
PROPOSED = 200  # characters of a proposal
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"[0-9]+")
_BREAKS = re.compile(r"\s*[\r\n]\s*")


@dataclass(frozen=True, slots=True)
class EncodedFact:
    """A fact that can be compared with many patterns.

    `plain` is what expressions see of it, `folded` what words see.
    """

    plain: bytes
    folded: bytes


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled pattern: an expression for each line.

    `lines` are the words of a rule in words, else None.
    """

    expressions: tuple[Any, ...]
    lines: phrases.Lines | None

    def matches(self, fact: EncodedFact) -> bool:
        """Whether every line is in a fact."""
        text = fact.plain if self.lines is None else fact.folded
        # Every rule is matched with every imported fact, and the first line alone mostly decides.
        if self.expressions[0].search(text) is None:
            return False
        return all(expression.search(text) is not None for expression in self.expressions[1:])

    def find_missing(self, fact: EncodedFact) -> list[int]:
        """Return the numbers of the lines that are not in a fact, from 0."""
        text = fact.plain if self.lines is None else fact.folded
        return [number for number, expression in enumerate(self.expressions) if expression.search(text) is None]


def clean(pattern: str) -> str:
    """Return a pattern as it is stored: without empty lines and blanks around lines."""
    return _BREAKS.sub("\n", pattern.strip())


@lru_cache(maxsize=KEPT)
def compile_pattern(pattern: str) -> Matcher:
    """Compile a pattern.

    Raises Refused for one that is none, or too big.
    """
    lines = phrases.read_pattern(pattern)
    if lines is not None:
        return Matcher(tuple(map(phrases.compile_line, lines)), lines)
    texts = unicodedata.normalize("NFC", pattern).split("\n")
    if len(texts) > MOST_LINES:
        raise Refused(_("A pattern has at most %(most)s lines.") % {"most": MOST_LINES})
    options = {"ignore_case": True, "longest": LONGEST, "memory": MEMORY}
    return Matcher(tuple(patterns.compile_pattern(text, **options) for text in texts), None)


def matches_text(pattern: str, fact: str) -> bool:
    """Return whether a pattern matches a fact. Raises as `compile_pattern`."""
    return compile_pattern(pattern).matches(encode_fact(fact))


def encode_fact(fact: str) -> EncodedFact:
    """Encode a fact, so that it can be compared with many patterns."""
    text, folded = normalise_fact(fact), phrases.fold(fact)
    data = text.encode("utf-8", "replace")
    return EncodedFact(data, data if folded == text else folded.encode("utf-8", "replace"))


def matches_encoded(pattern: str, fact: EncodedFact) -> bool:
    """Return whether a pattern matches an encoded fact. Raises as `compile_pattern`."""
    return compile_pattern(pattern).matches(fact)


def propose_pattern(fact: str) -> str:
    """Propose a pattern for a fact, which it always matches.

    It has the words of the fact in their order, any number for a number, and any characters but letters between them.
    It is empty for a fact without a character.
    """
    text = normalise_fact(fact)
    words = [_generalise_digits(word) for word in _WORD.findall(text)]
    if not words:
        return re.escape(text[: PROPOSED // 2])
    if len(words[0]) > PROPOSED:
        return _propose_beginning(_WORD.findall(text)[0])
    pattern = words[0]
    for word in words[1:]:
        longer = rf"{pattern}\W+{word}"
        if len(longer) > PROPOSED:
            break
        pattern = longer
    return pattern


def _generalise_digits(word):
    return _DIGITS.sub("[0-9]+", word)


def _propose_beginning(word):
    """Return the beginning of a word that is too long for a pattern.

    It has as many letters as fit, none of them a part of a number.
    """
    pattern = ""
    for piece in re.findall(r"[0-9]+|[^0-9]", word):
        longer = pattern + _generalise_digits(piece)
        if len(longer) > PROPOSED:
            break
        pattern = longer
    return pattern


__all__ = [
    "LONGEST_FACT",
    "compile_pattern",
    "encode_fact",
    "matches_encoded",
    "matches_text",
    "normalise_fact",
    "propose_pattern",
]
