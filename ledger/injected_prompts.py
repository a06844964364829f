"""Parses the prefixes that OpenClaw writes before its own prompts, such as `[cron:74a5… Morning orders]`."""

import re
from dataclasses import dataclass

from .collectors.machine_prompts import text_kind

LONGEST = 600  # characters in which a prefix ends
CRON = re.compile(r"\[cron:([0-9A-Za-z-]{1,64})(?: ([^\]\n]{0,200}))?(?:\]|\Z)\s*")
SYSTEM = re.compile(r"\[System Message\]\s*(?:\[sessionId: [^\]\n]{1,128}\]\s*)?")
CONTEXT = re.compile(r"\[Subagent Context\]")
TASK = re.compile(r"\[Subagent Task\]:?\s*")


@dataclass(frozen=True, slots=True)
class InjectedPrompt:
    """Why OpenClaw sent a prompt, and the name it gave, as of a scheduled task.

    `kind` is a key of `ledger.words.INJECTED_WORDS`.
    """

    kind: str
    name: str = ""


def split_injected(text: str) -> tuple[InjectedPrompt | None, str]:
    """The prefix of a prompt, parsed, and the words after it.

    A text without a prefix is returned as it is, with None.
    """
    if not text.startswith("["):
        kind = text_kind(text)
        return (InjectedPrompt(kind) if kind else None), text
    if match := CRON.match(text):
        return InjectedPrompt("cron", (match[2] or "").strip()), text[match.end() :]
    if match := SYSTEM.match(text):
        return InjectedPrompt("system_message"), text[match.end() :]
    if CONTEXT.match(text):
        task = TASK.search(text, 0, LONGEST)
        return InjectedPrompt("subagent_task"), text[task.end() :] if task else text
    kind = text_kind(text)
    return (InjectedPrompt(kind) if kind else None), text


def find_heading(line: str) -> str:
    """A line as a title: of a scheduled prompt the name of its task, or its words when it has no name."""
    prompt, words = split_injected(line)
    return (prompt.name or words) if prompt and prompt.kind == "cron" else line
