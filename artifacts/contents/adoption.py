"""The rule for outputs that become artifacts by themselves.

It is the spec's rule of thumb, as numbers.
"""

from . import content_types

CHARS, LINES, JSON_CHARS = 8_000, 200, 2_000
SNIFFED = 64 * 1024
BEGINNINGS = frozenset("{[<%")  # of JSON, HTML and PDF

# Marks of texts that were put into the prompt: stashing those would feed the store with its own answers.
INJECTED = (
    "<relevant-memories>",
    "<injected-context",
    '"schema":"openclaw-mem.',
    '"schema": "openclaw-mem.',
)


def is_injected(text: str) -> bool:
    """Whether a text begins like injected context, or like an answer of the store itself."""
    return any(mark in text[:400] for mark in INJECTED)


def is_adoptable(text: str, *, injected: bool = False) -> bool:
    """Whether a tool's result should be an artifact.

    It should when it is long, has many lines, is HTML or PDF, or is JSON that is not short. `injected`: the caller
    knows it as injected context, which never becomes one.
    """
    if injected or is_injected(text):
        return False
    if len(text) > CHARS or text.count("\n") + (not text.endswith("\n")) > LINES:
        return True
    if text.removeprefix("\ufeff").lstrip()[:1] not in BEGINNINGS:
        return False
    head = text.encode("utf-8", "replace")  # at most 32 kB from here on
    kind = content_types.guess(head, head[-SNIFFED:], is_whole=True)
    if kind in (content_types.JSON, content_types.JSON_LINES):
        return len(text) > JSON_CHARS
    return kind in (content_types.HTML, content_types.PDF)
