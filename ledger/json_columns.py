"""JSON in text columns, read without trusting it: a source may hold whatever type."""

from typing import Any

import orjson

BIGGEST = 2**53  # what JavaScript, and so every source and every reader, can count exactly


def object_in(text: str | None) -> dict[str, Any]:
    """The JSON object of a column; empty for none, and for anything else than an object."""
    try:
        found = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def count_of(value: Any) -> int | None:
    """A number of things as a source may give it; None for anything that is not one."""
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < BIGGEST
    return int(value) if is_count else None
