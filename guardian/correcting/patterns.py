"""Patterns of rules: which facts they match, and the pattern that is proposed for a fact. Pure.

A pattern is an expression of RE2, whose time grows with the text only. It is looked for anywhere in a fact; upper and
lower case are the same, letter by letter (`ß` is not `ss`). Both are compared as Unicode composes characters (NFC); of
a fact, every run of blanks and line ends counts as one blank, and characters that nobody sees do not count.
"""

import re
import unicodedata
from functools import lru_cache

from artifacts.looking import patterns

LONGEST = 300
LONGEST_FACT = 4_000  # characters of a fact that are looked at
MEMORY = 512 * 1024  # of one pattern, for the states it has been in
KEPT = 500  # compiled patterns
PROPOSED = 200  # characters of a proposal
HIDDEN = ("Cc", "Cf")  # categories of Unicode
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"[0-9]+")


def plain(fact: str) -> str:
    """A fact as patterns see it."""
    seen = fact[:LONGEST_FACT]
    if not seen.isprintable():
        seen = "".join(one for one in seen if one.isspace() or unicodedata.category(one) not in HIDDEN)
    return " ".join(unicodedata.normalize("NFC", seen).split())


@lru_cache(maxsize=KEPT)
def compiled(pattern: str):
    """A pattern that is ready to match. Raises Refused for one that is none, or too big."""
    return patterns.compiled(unicodedata.normalize("NFC", pattern), ignore_case=True, longest=LONGEST, memory=MEMORY)


def fits(pattern: str, fact: str) -> bool:
    """Whether a pattern matches a fact. Raises as `compiled`."""
    return matches(pattern, encoded(fact))


def encoded(fact: str) -> bytes:
    """A fact for `matches`: one fact that is compared with many patterns is made ready once."""
    return plain(fact).encode("utf-8", "replace")


def matches(pattern: str, fact: bytes) -> bool:
    """Whether a pattern matches a fact that `encoded` made ready. Raises as `compiled`."""
    return compiled(pattern).search(fact) is not None


def proposed(fact: str) -> str:
    """The pattern that is proposed for a fact, which it always matches: its words in their order, any number for a
    number, and whatever is no letter between them. Empty for a fact without a character."""
    text = plain(fact)
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
