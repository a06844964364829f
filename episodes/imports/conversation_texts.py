"""Finds who spoke in a line of a transcript, and removes what nobody said.

The rules are those of the existing tool's extractor, because ids of its events contain these texts: lines of the agent,
not the answer of a turn.
"""

import re
from typing import Any

import re2

from .normalization import clean_text

ROLES = ("user", "assistant")
# Lines that OpenClaw puts before the words of a person.
HEADERS = r"(?:Conversation info|Sender|Replied message|System \(untrusted\)|\[Subagent Context\])"
BLOCKS = tuple(
    re2.compile(pattern)
    for pattern in (
        r"(?is)<relevant-memories>.*?</relevant-memories>",
        r"(?is)<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>",
        r"(?is)<<<BEGIN_UNTRUSTED_CHILD_RESULT>>>.*?<<<END_UNTRUSTED_CHILD_RESULT>>>",
        rf"(?im)^\s*{HEADERS}.*?\n```json\s*(?s:.*?)```",
    )
)
LINES = re2.compile(
    rf"(?i)^\s*(?:{HEADERS}|memory-policy:\s*untrusted_reference_only"
    r"|\d+\.\s*\[[^\]]+\|[^\]]+\]\s*route-hint:\s*transcript recall)"
)
MARKS = re2.compile(r"(?i)<\|im_(?:start|end)\|>|\[/?INST\]|<<<(?:BEGIN|END)_[A-Z0-9_]+>>>")
NO_REPLY, MEDIA = "NO_REPLY", "MEDIA:"
COMMANDS = (NO_REPLY, "AUDIO_AS_VOICE")  # lines that are meant for OpenClaw


def find_message(record: dict[str, Any]) -> tuple[str, str]:
    """Return role and text of what a line says; both empty for another line."""
    inner = record.get("message")
    for message in (inner, record) if isinstance(inner, dict) else (record,):
        role = clean_text(message.get("role")).lower()
        text = _read_text(message) if role in ROLES else ""
        if text:
            return role, text
    return "", ""


def _read_text(message):
    content = message.get("content")
    if isinstance(content, list):
        texts = [clean_text(block.get("text")) for block in content if _is_text(block)]
    else:
        texts = [clean_text(content)] if isinstance(content, str) else []
    joined = "\n".join(filter(None, texts))
    return joined or (clean_text(message["text"]) if isinstance(message.get("text"), str) else "")


def _is_text(block):
    return isinstance(block, dict) and clean_text(block.get("type")).lower() == "text"


def clean_message(role: str, text: str) -> str:
    """Return a message without memories, headers, marks and commands of OpenClaw; empty when nothing remains."""
    if role == "assistant" and text.strip() == NO_REPLY:
        return ""
    for block in BLOCKS:
        text = block.sub("\n", text)
    text = "\n".join(line for line in text.splitlines() if not LINES.search(line))
    text = MARKS.sub(" ", text)
    text = "\n".join(line for line in text.splitlines() if not _is_command(line.strip()))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+", " ", text)).strip()


def _is_command(line):
    return line in COMMANDS or line.startswith(MEDIA)
