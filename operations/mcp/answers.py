"""Fits answers of tools into a number of characters."""

from typing import Any

import orjson

MOST_CHARACTERS = 20_000  # of the text of an answer
# Tried in this order until the answer fits: characters of a text, and items of a list.
STEPS = ((8_000, 200), (3_000, 100), (1_000, 50), (400, 20), (200, 10), (100, 5), (60, 2))
CUT = "texts end after %s characters (…), lists after %s items: read the pages, or ask for fewer items"
TOO_LARGE = "the answer is too large: read the pages, or ask for fewer items"


def format_answer(answer: dict[str, Any]) -> str:
    """Return an answer as JSON of at most MOST_CHARACTERS characters.

    Nulls and empty texts are left out. An answer that was cut has `cut`, a sentence.
    """
    text = _dump(_shorten(answer, MOST_CHARACTERS, MOST_CHARACTERS))
    for characters, items in STEPS:
        if len(text) <= MOST_CHARACTERS:
            return text
        text = _dump({"cut": CUT % (characters, items)} | _shorten(answer, characters, items))
    if len(text) <= MOST_CHARACTERS:
        return text
    return _dump({"cut": TOO_LARGE, "pages": _shorten(answer.get("pages", {}), 500, 10)})


def _dump(answer):
    return orjson.dumps(answer, option=orjson.OPT_NON_STR_KEYS).decode()


def _shorten(value, characters, items):
    """A copy without nulls and empty texts, with the beginnings of texts and lists."""
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[:characters]}…"
    if isinstance(value, list):
        return [_shorten(item, characters, items) for item in value[:items]]
    if isinstance(value, dict):
        parts = {name: _shorten(part, characters, items) for name, part in list(value.items())[: max(items, 40)]}
        return {name: part for name, part in parts.items() if part is not None and part not in ("", {})}
    return value
