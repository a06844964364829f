"""Rules in words: lines of words or pieces that a fact contains.

A fact has to contain all lines; of a line with several alternatives one is enough. All functions are pure.

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
LONGEST_FACT = 4_000  # characters of a fact that are compared
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
    """Return the pattern that these lines are stored as."""
    return "\n".join(map(_line_pattern, lines))


@lru_cache(maxsize=2_000)
def read_pattern(pattern: str) -> Lines | None:
    """Return the lines that a pattern was written from.

    None for a pattern that no lines are written as.
    """
    lines = tuple(tuple(map(_read_piece, _split(line))) for line in pattern.split("\n"))
    return lines if write_pattern(lines) == pattern and read_lines(format_lines(lines)) == lines else None


@lru_cache(maxsize=4_000)
def compile_line(line: tuple[str, ...]):
    """Compile the expression that finds one of these pieces in a folded fact."""
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
    """Return the alternatives of an expression, which bars without a backslash separate."""
    return _BETWEEN.sub("\\1\n", line).split("\n")


def _read_piece(expression):
    return _ESCAPED.sub(r"\1", expression.removeprefix(r"\b").removesuffix(r"\b"))


def _escape(piece):
    return _MARKS.sub(r"\\\1", piece)


def _is_word(piece):
    return IS_SPACED.match(piece) is not None


def _is_whole(piece):
    return len(piece) <= WHOLE and all(map(IS_SPACED.match, piece))
