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
