"""Characters that a loader stops at: halves of surrogate pairs and NULs."""

import re
from typing import Any

import orjson

BAD = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "�"
ESCAPED_NUL = rb"\u0000"


def clean(value: Any) -> Any:
    """The same value with every unusable character of its texts replaced by U+FFFD; the value itself if it has none."""
    if isinstance(value, str):
        return BAD.sub(REPLACEMENT, value) if BAD.search(value) else value
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value


def as_line(row: dict[str, Any]) -> tuple[bytes, dict[str, Any], bool]:
    """A row as a line of JSON, the row as it then reads, and whether characters had to be replaced."""
    try:
        line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        if ESCAPED_NUL not in line:
            return line, row, False
    except TypeError:  # a lone surrogate
        pass
    cleaned = clean(row)
    return orjson.dumps(cleaned, option=orjson.OPT_APPEND_NEWLINE), cleaned, cleaned != row
