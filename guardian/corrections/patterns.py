"""Patterns of rules: matching facts, and proposing a pattern for a fact.

A pattern is an expression of RE2, whose time grows with the text only. It is searched anywhere in a fact; upper and
lower case are the same, letter by letter (`ß` is not `ss`). Both are compared as Unicode composes characters (NFC); of
a fact, every run of blanks and line ends counts as one blank, and characters that nobody sees do not count.

A pattern of several lines matches a fact that each line matches: RE2 looks neither ahead nor behind, so one expression
cannot require several words in any order. `phrases.write_pattern` returns such a pattern. All functions are pure.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from artifacts.excerpts import patterns
from openclaw_web.errors import Refused

Lines = tuple[tuple[str, ...], ...]
MOST_LINES = 5  # of a rule: all of them are compared with every fact
MOST_ALTERNATIVES = 20
LONGEST_PIECE = 60
LONGEST_LINE = 300  # characters of the stored expression of a line
LONGEST_FACT = 4_000  # characters of a fact that are compared
LONGEST_NAME = 80
WHOLE = 2  # letters and digits of a word that is found only as a whole
LINE_MEMORY = 128 * 1024  # of the expression of a line
HIDDEN = ("Cc", "Cf")  # categories of Unicode
COMMAS = re.compile("[,，、;；\n]")
# Letters and digits of scripts that put blanks between words: Latin, Greek, Cyrillic, with their marks.
SPACED = "0-9A-Za-zÀ-ÖØ-öø-ɏ\u0300-\u052f\u1e00-\u1fff"
IS_SPACED = re.compile(f"[{SPACED}]")
_MARKS = re.compile(r"([\\.+*?()|\[\]{}^$])")
_ESCAPED = re.compile(r"\\([\\.+*?()|\[\]{}^$])")
_BETWEEN = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_WIDE = re.compile("[\uff00-\uffef\u3000]")


def normalise_fact(fact: str) -> str:
    """Return a fact as patterns see it, without characters that nobody sees.

    It is composed (NFC), on one line, with single blanks.
    """
    visible = fact[:LONGEST_FACT]
    if not visible.isprintable():
        visible = "".join(char for char in visible if char.isspace() or unicodedata.category(char) not in HIDDEN)
    return " ".join(unicodedata.normalize("NFC", visible).split())


def fold(fact: str) -> str:
    """Return a fact as words see it: with the usual forms of wide characters.

    Otherwise it is as `normalise_fact` returns it.
    """
    text = normalise_fact(fact)
    if not _WIDE.search(text):
        return text
    return normalise_fact(_WIDE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text))


def read_lines(text: str) -> Lines:
    """Read typed lines: a word or piece a line, alternatives separated by commas.

    Empty lines are left out.
    """
    lines = (tuple(dict.fromkeys(filter(None, map(fold, COMMAS.split(line))))) for line in text.splitlines())
    return tuple(filter(None, lines))


def check_lines(lines: Sequence[Sequence[str]]) -> Lines:
    """Return lines from outside as they are stored.

    Raises Refused for too many or too long ones, and for none.
    """
    pieces = ((" ".join(COMMAS.sub(" ", piece).split()) for piece in line) for line in lines)
    text = "\n".join(map(", ".join, pieces))
    checked = read_lines(text)
    if not checked:
        raise Refused(_("Type at least one word that the facts contain."))
    if len(checked) > MOST_LINES:
        raise Refused(_("A rule has at most %(most)s lines of words.") % {"most": MOST_LINES})
    if any(len(line) > MOST_ALTERNATIVES for line in checked):
        raise Refused(_("A line has at most %(most)s alternatives.") % {"most": MOST_ALTERNATIVES})
    if any(len(piece) > LONGEST_PIECE for line in checked for piece in line):
        raise Refused(_("A word of a rule has at most %(most)s characters.") % {"most": LONGEST_PIECE})
    if any(len(_line_pattern(line)) > LONGEST_LINE for line in checked):
        raise Refused(_("A line of words is too long: use fewer alternatives."))
    return checked


def format_lines(lines: Sequence[Sequence[str]]) -> str:
    """Return lines as somebody types them."""
    return "\n".join(", ".join(line) for line in lines)


def name_lines(lines: Sequence[Sequence[str]]) -> str:
    """Return a short name for lines, the same in every language: `no/without + nut`."""
    name = " + ".join("/".join(line) for line in lines)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def write_pattern(lines: Lines) -> str:
    return "\n".join(map(_line_pattern, lines))


@lru_cache(maxsize=2_000)
def read_pattern(pattern: str) -> Lines | None:
    """Return the lines that a pattern was written from.

    None for a pattern that no lines are written as.
    """
    lines = tuple(tuple(map(_read_piece, _BETWEEN.sub("\\1\n", line).split("\n"))) for line in pattern.split("\n"))
    return lines if write_pattern(lines) == pattern and read_lines(format_lines(lines)) == lines else None


@lru_cache(maxsize=4_000)
def compile_line(line: tuple[str, ...]):
    """Compile the expression that finds one of these pieces in a folded fact."""
    anywhere = [_escape(piece) for piece in line if not _is_word(piece)]
    words = [_escape(piece) + (f"(?:$|[^{SPACED}])" if _is_whole(piece) else "") for piece in filter(_is_word, line)]
    if words:
        anywhere.append(f"(?:^|[^{SPACED}])(?:{'|'.join(words)})")
    return patterns.compile_pattern("|".join(anywhere), ignore_case=True, longest=4 * LONGEST_LINE, memory=LINE_MEMORY)


def _line_pattern(line):
    return "|".join(
        (r"\b" if _is_word(piece) else "") + _escape(piece) + (r"\b" if _is_whole(piece) else "") for piece in line
    )


def _read_piece(expression):
    return _ESCAPED.sub(r"\1", expression.removeprefix(r"\b").removesuffix(r"\b"))


def _escape(piece):
    return _MARKS.sub(r"\\\1", piece)


def _is_word(piece):
    return IS_SPACED.match(piece) is not None


def _is_whole(piece):
    return len(piece) <= WHOLE and all(map(IS_SPACED.match, piece))


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
    lines: Lines | None

    def matches(self, fact: EncodedFact) -> bool:
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
    lines = read_pattern(pattern)
    if lines is not None:
        return Matcher(tuple(map(compile_line, lines)), lines)
    texts = unicodedata.normalize("NFC", pattern).split("\n")
    if len(texts) > MOST_LINES:
        raise Refused(_("A pattern has at most %(most)s lines.") % {"most": MOST_LINES})
    options = {"ignore_case": True, "longest": LONGEST, "memory": MEMORY}
    return Matcher(tuple(patterns.compile_pattern(text, **options) for text in texts), None)


def matches_text(pattern: str, fact: str) -> bool:
    """Return whether a pattern matches a fact. Raises as `compile_pattern`."""
    return compile_pattern(pattern).matches(encode_fact(fact))


def encode_fact(fact: str) -> EncodedFact:
    text, folded = normalise_fact(fact), fold(fact)
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
