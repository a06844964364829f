"""Makes characters visible that hide or reorder text.

A page never shows less than a record holds.

Joiners (U+200C, U+200D) stay as they are: emoji and several scripts need them.
"""

import re
from html import escape

from django.utils.safestring import SafeString

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]+"
)
MARKS = 100  # after so many places in one text the codes have no markup, because a page has a byte budget
NAMES = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI", "DLE"),
    *("DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
)
RUN = 8  # so many characters in a row are named; the rest is counted


def to_html(text: str) -> SafeString:
    """Escape `text` for HTML, with each hidden character as a small marked code."""
    text = text.replace("\r\n", "\n")
    return mark_html(escape(text))


def to_html_lines(lines: list[str]) -> list[str]:
    """Each line as `to_html` escapes it; all are escaped together, unless one has a hidden character."""
    text = "\n".join(lines)
    return escape(text).split("\n") if _is_visible(text) else [to_html(line) for line in lines]


def to_one_line(text: str) -> str:
    """`text` on one line without hidden characters, for titles and attributes."""
    return " ".join(HIDDEN.sub(lambda run: f" ‹{_format_codes(run[0])}› ", text).split())


def to_terminal(text: str) -> str:
    """`text` for a terminal, with hidden and control characters as codes.

    Line breaks and tabs stay.
    """
    return HIDDEN.sub(lambda run: to_one_line(run[0]), text)


def escape_name(name: str) -> str:
    """The name of a file, with codes for invisible or invalid characters.

    So two names that differ look different.
    """
    return "".join(letter if letter.isprintable() else f"‹{_format_code(ord(letter))}›" for letter in name)


def mark_html(html: str) -> SafeString:
    """Replace hidden characters in the texts of HTML by marked codes.

    The tags must hold none.
    """
    if _is_visible(html):
        return SafeString(html)
    remaining = MARKS

    def show(run):
        nonlocal remaining
        remaining -= 1
        codes = _format_codes(run[0])
        return f'<span class="glyph">{codes}</span>' if remaining >= 0 else f"‹{codes}›"

    return SafeString(HIDDEN.sub(show, html))  # `_format_codes` is letters and digits


def _is_visible(text):
    """Whether all characters are printable, as in most texts. The check is quick."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def _format_codes(run):
    codes = " ".join(_format_code(ord(character)) for character in run[:RUN])
    return codes if len(run) <= RUN else f"{codes}×{len(run)}"


def _format_code(point):
    if point < 0x20:
        return NAMES[point]
    return "DEL" if point == 0x7F else f"U+{point:04X}"
