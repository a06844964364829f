"""Rules in words: facts that contain all of some lines, each a word or piece, or several of which one is enough. Pure.

A rule in words is stored as a pattern: one expression a line, alternatives separated by `|`, `\\b` before a word.
`read_pattern` gives back the lines of such a pattern. Words are compared as `fold` writes them: upper and lower case
and full-width forms are the same. A word is found where a word begins; Chinese, Japanese and Korean anywhere.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from django.utils.translation import gettext as _

from artifacts.excerpts import patterns
from openclaw_web.errors import Refused

Lines = tuple[tuple[str, ...], ...]
MOST_LINES = 5  # of a rule: all of them are compared with every fact
MOST_ALTERNATIVES = 20
LONGEST_PIECE = 60
LONGEST_LINE = 300  # characters of the stored expression of a line
LONGEST_FACT = 4_000  # characters of a fact that are looked at
LONGEST_NAME = 80
WHOLE = 2  # letters and digits of a word that is found only as a whole
MEMORY = 128 * 1024  # of the expression of a line
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
    """A fact as patterns see it: composed (NFC), on one line with single blanks, without characters nobody sees."""
    seen = fact[:LONGEST_FACT]
    if not seen.isprintable():
        seen = "".join(char for char in seen if char.isspace() or unicodedata.category(char) not in HIDDEN)
    return " ".join(unicodedata.normalize("NFC", seen).split())


def fold(fact: str) -> str:
    """A fact as words see it: as `plain`, with full-width and half-width forms as the usual ones."""
    text = normalise_fact(fact)
    if not _WIDE.search(text):
        return text
    return normalise_fact(_WIDE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text))


def read_lines(text: str) -> Lines:
    """The lines that somebody typed, a word or piece a line, alternatives separated by commas; empty ones left out."""
    lines = (tuple(dict.fromkeys(filter(None, map(fold, COMMAS.split(line))))) for line in text.splitlines())
    return tuple(filter(None, lines))


def check_lines(lines: Sequence[Sequence[str]]) -> Lines:
    """Lines from outside as they are stored. Raises Refused for too many or too long ones, and for none."""
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
    """Lines as somebody types them."""
    return "\n".join(", ".join(line) for line in lines)


def name_lines(lines: Sequence[Sequence[str]]) -> str:
    """A short name made of lines, the same in every language: `no/without + nut`."""
    name = " + ".join("/".join(line) for line in lines)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def write_pattern(lines: Lines) -> str:
    """The pattern that these lines are stored as."""
    return "\n".join(map(_line_pattern, lines))


@lru_cache(maxsize=2_000)
def read_pattern(pattern: str) -> Lines | None:
    """The lines that a pattern was written from; None for a pattern that no lines are written as."""
    lines = tuple(tuple(map(_read_piece, _split(line))) for line in pattern.split("\n"))
    return lines if write_pattern(lines) == pattern and read_lines(format_lines(lines)) == lines else None


@lru_cache(maxsize=4_000)
def compile_line(line: tuple[str, ...]):
    """The expression that finds one of these pieces in a folded fact."""
    anywhere = [_escape(piece) for piece in line if not _is_word(piece)]
    words = [_escape(piece) + (f"(?:$|[^{SPACED}])" if _is_whole(piece) else "") for piece in filter(_is_word, line)]
    if words:
        anywhere.append(f"(?:^|[^{SPACED}])(?:{'|'.join(words)})")
    return patterns.compile_pattern("|".join(anywhere), ignore_case=True, longest=4 * LONGEST_LINE, memory=MEMORY)


def _line_pattern(line):
    return "|".join(
        (r"\b" if _is_word(piece) else "") + _escape(piece) + (r"\b" if _is_whole(piece) else "") for piece in line
    )


def _split(line):
    """The alternatives of an expression: what stands between bars that are not escaped."""
    return _BETWEEN.sub("\\1\n", line).split("\n")


def _read_piece(expression):
    return _ESCAPED.sub(r"\1", expression.removeprefix(r"\b").removesuffix(r"\b"))


def _escape(piece):
    return _MARKS.sub(r"\\\1", piece)


def _is_word(piece):
    return IS_SPACED.match(piece) is not None


def _is_whole(piece):
    return len(piece) <= WHOLE and all(map(IS_SPACED.match, piece))
