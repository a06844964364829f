"""JSON without the characters that a loader stops at: halves of surrogate pairs and NULs."""

import json
import math
import re
from typing import Any

import orjson

BAD = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"
ESCAPED_NUL = rb"\u0000"


def clean_value(value: Any) -> Any:
    """The same value with every unusable character of its texts replaced by U+FFFD.

    A float that is infinite or not a number becomes None.
    """
    if isinstance(value, str):
        return BAD.sub(REPLACEMENT, value) if BAD.search(value) else value
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def clean_json(value: Any) -> str:
    """A cleaned value as a text of JSON, for a text column of a row."""
    return dump_json(clean_value(value))


def escape_halves(text: str) -> str:
    """A text that can be stored: with an escape such as `\\udcff` in place of half of a surrogate pair."""
    return text.encode(errors="backslashreplace").decode()


def dump_json(value: Any) -> str:
    """A value as a text of JSON, cleaned only where it cannot be encoded otherwise.

    Faster than `clean_json`: it does not look at each character, and a NUL stays, as its escape.
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half a surrogate pair, or a number orjson has no room for
        return json.dumps(clean_value(value), ensure_ascii=False)


def encode_value(value: Any) -> tuple[bytes, Any, bool]:
    """A value as JSON, the value as it reads back, and whether characters were replaced."""
    try:
        data = orjson.dumps(value)
        if ESCAPED_NUL not in data:
            return data, value, False
    except TypeError:  # a lone surrogate
        pass
    cleaned = clean_value(value)
    return orjson.dumps(cleaned), cleaned, cleaned != value


DEPTHS = 5  # of JSON in JSON
NUMBER_CHARACTERS = frozenset("0123456789+-.eE")
BLANKS = 64  # around a number, at most


class QuoteWriter:
    """Puts texts between quotes at places of a JSON text where no string is open.

    The places have to come in order: the text is read once.
    """

    def __init__(self, text: str):
        self.text = text
        self.place = self.depth = 0  # how many strings are open there, each of them JSON within the one around it

    def put_around(self, text: str, place: int) -> str:
        """A text as a string of JSON at a place, with the escapes of its depth."""
        while (quote := self.text.find('"', self.place, place)) >= 0:
            # The depth at which a quote begins or ends a string, by the backslashes before it.
            count, level = 0, 0
            while count < quote and self.text[quote - count - 1] == "\\":
                count += 1
            while count % 2:
                count, level = count // 2, level + 1
            if level <= self.depth:
                self.depth = level if self.depth > level else level + 1
            self.place = quote + 1
        escapes = "\\" * (2 ** min(self.depth, DEPTHS) - 1)
        return f'{escapes}"{text}{escapes}"'


def looks_like_json(text: str) -> bool:
    """Whether a text begins like an object or a list of JSON."""
    return text.lstrip()[:1] in ("{", "[")


def is_json(text: str) -> bool:
    """Whether a text is a value of JSON."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def is_number(text: str) -> bool:
    """Whether a text has only characters of a number of JSON."""
    return NUMBER_CHARACTERS.issuperset(text)


def find_number(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Start and end of the bare number around a place; None in a string."""
    while start and text[start - 1] in NUMBER_CHARACTERS:
        start -= 1
    while end < len(text) and text[end] in NUMBER_CHARACTERS:
        end += 1
    if not is_number(text[start:end]):
        return None
    before, after = text[max(0, start - BLANKS) : start].rstrip()[-1:], text[end : end + BLANKS].lstrip()[:1]
    return (start, end) if before in ("[", ":", ",") and after in ("]", "}", ",") else None


def is_kept(before: str, after: str) -> bool:
    """Whether what was JSON in a text, or in its strings, is JSON after a change."""
    try:
        value = json.loads(before)
    except (ValueError, RecursionError):
        return True
    try:
        return _is_value_kept(value, json.loads(after))
    except (ValueError, RecursionError):
        return False


def _is_value_kept(value: Any, other: Any) -> bool:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        others = other.values() if isinstance(other, dict) else other if isinstance(other, list) else ()
        return all(_is_value_kept(*pair) for pair in zip(items, others, strict=False))
    if isinstance(value, str) and looks_like_json(value):
        return isinstance(other, str) and is_kept(value, other)
    return True
