"""The normal form NFKC of Unicode, in time that grows with the length of a text."""

import re
import unicodedata

MOST_MARKS = 30  # in a row, as in the stream-safe format of UAX #15; no language has words with so many
JOINER = "\u034f"  # combining grapheme joiner: marks before and after it are not sorted together
WIDE_MARKS = {"\uff9e": "\u3099", "\uff9f": "\u309a"}  # become marks; all others are neither words nor blanks
_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{MOST_MARKS + 1},}}")


def to_nfkc(text: str) -> str:
    """A text in NFKC, with a joiner after each 30 marks in a row.

    Python sorts the marks of a letter in quadratic time: 40,000 take two seconds.
    """
    if text.isascii():
        return text
    for wide_mark, mark in WIDE_MARKS.items():
        text = text.replace(wide_mark, mark)
    return unicodedata.normalize("NFKC", _RUN.sub(_join_marks, text))


def _join_marks(run):
    parts, count = [], 0
    for character in run[0]:
        count = count + 1 if unicodedata.category(character)[0] == "M" else 0
        if count > MOST_MARKS:
            parts.append(JOINER)
            count = 1
        parts.append(character)
    return "".join(parts)
