"""Characters that hide or reorder text, made visible: a page never shows less than a record holds.

Joiners (U+200C, U+200D) stay as they are: emoji and several scripts need them.
"""

import re
from html import escape

from django.utils.safestring import SafeString

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]+"
)
MARKS = 100  # beyond so many places in one text the codes stand without markup: a page has a byte budget
NAMES = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI", "DLE"),
    *("DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
)
RUN = 8  # of so many characters in a row each one is named, the rest is counted


def to_html(text: str) -> SafeString:
    """`text` escaped for HTML, each hidden character as a small marked code."""
    text = text.replace("\r\n", "\n")
    return mark_html(escape(text))


def to_one_line(text: str) -> str:
    """`text` on one line without hidden characters, for titles and attributes."""
    return " ".join(HIDDEN.sub(lambda run: f" ‹{_codes(run[0])}› ", text).split())


def to_terminal(text: str) -> str:
    """`text` for a terminal, which would hide or obey some characters: they are named, lines and tabs stay."""
    return HIDDEN.sub(lambda run: to_one_line(run[0]), text)


def escape_name(name: str) -> str:
    """The name of a file, with a code for each character that cannot be seen or is not UTF-8: two names differ."""
    return "".join(letter if letter.isprintable() else f"‹{_code(ord(letter))}›" for letter in name)


def mark_html(html: str) -> SafeString:
    """HTML whose texts may hold hidden characters (its tags may not), with the characters as marked codes."""
    if html.replace("\n", "").replace("\t", "").isprintable():  # so are most texts, and this is quickly known
        return SafeString(html)
    left = MARKS

    def show(run):
        nonlocal left
        left -= 1
        codes = _codes(run[0])
        return f'<span class="glyph">{codes}</span>' if left >= 0 else f"‹{codes}›"

    return SafeString(HIDDEN.sub(show, html))  # `_codes` is letters and digits


def _codes(run):
    shown = " ".join(_code(ord(character)) for character in run[:RUN])
    return shown if len(run) <= RUN else f"{shown}×{len(run)}"


def _code(point):
    if point < 0x20:
        return NAMES[point]
    return "DEL" if point == 0x7F else f"U+{point:04X}"
