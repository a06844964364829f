"""Texts that no event should hold: secrets and personal data, which the detectors judge, and output of tools.

Whether a text is output of a tool is a rule of the existing tool (openclaw-mem 2.0.0).
"""

from functools import lru_cache

import re2

from openclaw_web.detectors import spans
from openclaw_web.detectors.detect import find_spans

SECRET, PERSONAL, TOOL_OUTPUT = "secret", "pii", "tool-output"
# Kinds of the detectors; a text whose search would take too long may hold anything. Addresses of machines are no
# personal data here: outputs and alerts are full of them.
SECRETS = {spans.KEY, spans.PASSWORD, spans.JWT, spans.PRIVATE_KEY, spans.SECRET, spans.NOT_FULLY_SCANNED}
PERSONAL_DATA = {spans.EMAIL, spans.PHONE, spans.CARD, spans.IBAN, spans.ID_NUMBER}
OUTPUT_WORDS = re2.compile(
    r"(?i)\b(?:stdout|stderr|exit\s*code|traceback|stack\s*trace|tool[_\s-]?(?:call|result)|command output)\b"
)
OUTPUT_KEYS = re2.compile(r'"(?:stdout|stderr|exitCode|command|tool)"')
FENCE = "```"
MEMORIES = "<relevant-memories>"
# In lower case: each match of the patterns holds one of these, which are much faster to look for.
OUTPUT_PARTS = ("stdout", "stderr", "exit", "traceback", "stack", "tool", "command")

_find_spans = lru_cache(maxsize=8)(find_spans)  # of one text several things are asked


def is_secret(text: str) -> bool:
    """Whether a text seems to hold a secret."""
    return any(span.kind in SECRETS for span in _find_spans(text))


def is_personal(text: str) -> bool:
    """Whether a text seems to hold an address of mail, a telephone number or another number of a person."""
    return any(span.kind in PERSONAL_DATA for span in _find_spans(text))


def is_tool_output(text: str) -> bool:
    """Whether a text looks like the output of a tool."""
    text = text.strip()
    if MEMORIES in text or text.startswith(FENCE):
        return True
    lowered = text.lower()
    # Patterns take a long s for an s.
    if "ſ" not in lowered and not any(part in lowered for part in OUTPUT_PARTS):
        return False
    if OUTPUT_WORDS.search(text):
        return True
    return text.startswith("{") and text.endswith("}") and bool(OUTPUT_KEYS.search(text))


def find_kinds(text: str, *, is_json: bool) -> list[str]:
    """Return the kinds of sensitive content in a text, the worst first.

    Only JSON is searched for output of tools.
    """
    if not text:
        return []
    kinds = [kind for kind, holds in ((SECRET, is_secret), (PERSONAL, is_personal)) if holds(text)]
    return [*kinds, TOOL_OUTPUT] if is_json and is_tool_output(text) else kinds


def mask_personal(text: str) -> str:
    """Return a text whose personal data is replaced by words such as `[REDACTED_PHONE]`."""
    for span in reversed(_find_spans(text)):
        if span.kind in PERSONAL_DATA:
            text = f"{text[: span.start]}[REDACTED_{span.kind.upper()}]{text[span.end :]}"
    return text
