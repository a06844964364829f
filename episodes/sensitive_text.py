"""Texts that no event should hold: secrets, addresses and telephone numbers, output of tools.

The kinds and their reach are those of the existing tool (openclaw-mem 2.0.0); secrets are also those that artifacts
are searched for by their shape.
"""

import re

import re2

from artifacts.contents import secrets

SECRET, PERSONAL, TOOL_OUTPUT = "secret", "pii", "tool-output"
# Kinds of artifacts' secrets that are keys by their shape; the others match any mention of a password.
BY_SHAPE = {"private_key", "aws_key", "bearer", "github_key", "google_key", "jwt", "model_key", "slack_key"}
NAMED_SECRET = re2.compile(
    r"(?i)\b(?:api[_-]?key|access[_-]?token|refresh[_-]?token|passwd|password|pwd|secret)\b[\"']?\s*[:=]\s*\S"
)
GITHUB_TOKEN = re2.compile(r"\bgh[opsur]_[0-9A-Za-z]{20,}|\bgithub_pat_[0-9A-Za-z_]{20,}")
MAIL = re2.compile(r"(?i)\b[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}\b")
PHONE = re.compile(r"(?<!\d)\+?\d[\d\s()-]{7,}\d(?!\d)")
PHONE_PART = re.compile(r"\d[\d\s()-]{7}")  # every match of PHONE holds one; it is found much faster
OUTPUT_WORDS = re2.compile(
    r"(?i)\b(?:stdout|stderr|exit\s*code|traceback|stack\s*trace|tool[_\s-]?(?:call|result)|command output)\b"
)
OUTPUT_KEYS = re2.compile(r'"(?:stdout|stderr|exitCode|command|tool)"')
FENCE = "```"
MEMORIES = "<relevant-memories>"
# In lower case: each match of the patterns holds one of these, which are much faster to look for.
SECRET_PARTS = (
    *("key", "token", "passw", "pwd", "secret", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_"),
    *("-----begin", "akia", "asia", "bearer ", "aiza", "eyj", "sk-", "xox"),
)
OUTPUT_PARTS = ("stdout", "stderr", "exit", "traceback", "stack", "tool", "command")


def is_secret(text: str) -> bool:
    """Whether a text seems to hold a secret."""
    if not _may_match(text, SECRET_PARTS):
        return False
    if NAMED_SECRET.search(text) or GITHUB_TOKEN.search(text):
        return True
    return not BY_SHAPE.isdisjoint(secrets.find_kinds(text))


def _may_match(text, parts):
    """Whether a text holds one of the parts.

    Also with a long s, which patterns take for an s, and with NUL, which they pass over.
    """
    lowered = text.lower()
    for part in parts:
        if part in lowered:
            return True
    return "ſ" in lowered or "\0" in lowered


def is_personal(text: str) -> bool:
    """Whether a text holds a mail address or what looks like a telephone number."""
    return bool("@" in text and MAIL.search(text)) or bool(PHONE_PART.search(text) and PHONE.search(text))


def is_tool_output(text: str) -> bool:
    """Whether a text looks like the output of a tool."""
    text = text.strip()
    if MEMORIES in text or text.startswith(FENCE):
        return True
    if not _may_match(text, OUTPUT_PARTS):
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
    """Return a text whose mail addresses and telephone numbers are replaced by a word."""
    if "@" in text:
        text = MAIL.sub("[REDACTED_EMAIL]", text)
    return PHONE.sub("[REDACTED_PHONE]", text) if PHONE_PART.search(text) else text
