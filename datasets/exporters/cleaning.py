"""Rows as lines of JSON, without the characters a loader stops at: halves of surrogate pairs and NULs."""

import re
from typing import Any

import orjson

BAD = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"
ESCAPED_NUL = rb"\u0000"
MOST_REMEMBERED = 2_000
Row = dict[str, Any]


def clean(value: Any) -> Any:
    """The same value with every unusable character of its texts replaced by U+FFFD."""
    if isinstance(value, str):
        return BAD.sub(REPLACEMENT, value) if BAD.search(value) else value
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value


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


class Lines:
    """Makes lines of rows. The rows of a session share most of their messages: each is put into JSON once."""

    def __init__(self) -> None:
        # The message is kept beside its JSON, so that its id stays its own.
        self._known: dict[int, tuple[Row, orjson.Fragment, Row, bool]] = {}

    def line(self, row: Row) -> tuple[bytes, Row, bool]:
        """A row as a line, the row as it then reads, and whether characters had to be replaced."""
        messages = row.get("conversations")
        if messages is None:
            data, row, is_changed = as_json(row)
            return data + b"\n", row, is_changed
        parts = [self._known.get(id(message)) or self._learn(message) for message in messages]
        _, others, is_changed = as_json({**row, "conversations": None})
        pieces = {**others, "conversations": [part[1] for part in parts]}
        read = {**others, "conversations": [part[2] for part in parts]}
        data = orjson.dumps(pieces, option=orjson.OPT_APPEND_NEWLINE)
        return data, read, is_changed or any(part[3] for part in parts)

    def _learn(self, message):
        if len(self._known) > MOST_REMEMBERED:
            self._known.clear()
        data, read, is_changed = as_json(message)
        self._known[id(message)] = part = (message, orjson.Fragment(data), read, is_changed)
        return part
