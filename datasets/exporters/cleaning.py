"""JSON without the characters that a loader stops at: halves of surrogate pairs and NULs."""

import re
from typing import Any

import orjson

BAD = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"
ESCAPED_NUL = rb"\u0000"


def clean(value: Any) -> Any:
    """The same value with every unusable character of its texts replaced by U+FFFD."""
    if isinstance(value, str):
        return BAD.sub(REPLACEMENT, value) if BAD.search(value) else value
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value


def clean_json(value: Any) -> str:
    """A value as a text of JSON, for a text of a row."""
    return orjson.dumps(clean(value)).decode()


def as_json(value: Any) -> tuple[bytes, Any, bool]:
    """A value as JSON, the value as it then reads, and whether characters had to be replaced."""
    try:
        data = orjson.dumps(value)
        if ESCAPED_NUL not in data:
            return data, value, False
    except TypeError:  # a lone surrogate
        pass
    cleaned = clean(value)
    return orjson.dumps(cleaned), cleaned, cleaned != value
