"""Hides the key of an endpoint wherever an answer repeats it."""

import re

HIDDEN = "…"


def masked(text: str, key: str) -> str:
    """A text without the key, also where JSON spells its characters as `\\u0041` or `\\/`."""
    if not key:
        return text
    return re.sub("".join(map(_spellings, key)), HIDDEN, text)


def _spellings(character: str) -> str:
    return rf"(?:{re.escape(character)}|\\{re.escape(character)}|\\u(?i:{ord(character):04x}))"
