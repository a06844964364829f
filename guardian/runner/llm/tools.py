"""The three tools, carried out: nothing is written here, and nothing but the five memory files is read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from openclaw_web.errors import Refused

from ...file_bytes import bytes_to_text
from ...files import MEMORY_FILES
from .answer_parsing import ToolCall
from .prompts import READ, REFUSE

MOST_CONTENT = 262_144  # bytes of a file that is sent or written: more is no memory that fits into a prompt
MOST_REASON = 2_000  # characters
UNREADABLE = "This file cannot be read."
Reads = Callable[[str], bytes | None]


class End(StrEnum):
    """How work on a fact ended."""

    WRITE = "write"
    REFUSE = "refuse"
    NOTHING = "nothing"  # too many steps


@dataclass(frozen=True, slots=True)
class FactResult:
    """What a model made of a fact: the whole new content of the file, or why there is none."""

    end: End
    content: bytes = b""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered: `told` for the model, `ended` when it was the last."""

    answer: dict[str, Any]
    result: FactResult | None = None


@dataclass(slots=True)
class Tools:
    """The tools for one fact. `reads` gives what a memory file holds, None where there is none; `held` is the target.

    `is_hidden` says of which files nothing may be sent. `reads` raises Refused for a file that nobody may touch.
    """

    target_file: str
    held: bytes | None
    read_file: Reads
    is_hidden: Callable[[str], bool]
    was_read: bool = field(default=False, init=False)

    def run_tool(self, one: ToolCall) -> ToolResult:
        """Do what a model wants, or tell it why that is not done."""
        if one.fault:
            return _not(one.fault)
        if one.tool == REFUSE:
            return ToolResult(
                {"ok": True}, FactResult(End.REFUSE, reason=one.arguments["reason"].strip()[:MOST_REASON])
            )
        return self._read(one.arguments["file"]) if one.tool == READ else self._write(**one.arguments)

    def _read(self, name) -> ToolResult:
        if name not in MEMORY_FILES:
            return _not("There is no such memory file.")
        try:
            data = self.held if name == self.target_file else self.read_file(name)
        except Refused:  # a link, a file with a second name, or one that is too large
            return _not(UNREADABLE)
        if data is None:
            return ToolResult({"file": name, "missing": True})
        if self.is_hidden(name) or why_unreadable(data):
            return _not(UNREADABLE)
        self.was_read = self.was_read or name == self.target_file
        return ToolResult({"file": name, "content": data.decode()})

    def _write(self, file, content) -> ToolResult:
        if file != self.target_file:
            return _not(f"Only {self.target_file} can be written.")
        if self.held is not None and not self.was_read:
            return _not(f"Read {self.target_file} first.")
        data = fitted(self.held, content)
        if "\x00" in content or len(data) > MOST_CONTENT:
            return _not("The content holds NUL, or is too large.")
        if not content.strip():
            return _not("The content is empty. Nothing is ever emptied: refuse instead.")
        return ToolResult({"ok": True}, FactResult(End.WRITE, data))


def why_unreadable(data: bytes) -> str:
    """What is wrong with a content that no model is shown, in one word; empty when nothing is."""
    if len(data) > MOST_CONTENT:
        return "size"
    try:
        return "bytes" if "\x00" in data.decode() else ""
    except UnicodeDecodeError:
        return "bytes"


def fitted(held: bytes | None, content: str) -> bytes:
    """A new content with the line ends, the byte order mark and the last newline of what the file held."""
    old = bytes_to_text(held or b"")
    if "\r\n" in old and "\n" not in old.replace("\r\n", ""):
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    if old.startswith("\ufeff") and not content.startswith("\ufeff"):
        content = f"\ufeff{content}"
    end = "\r\n" if old.endswith("\r\n") else "\n"
    if (not old or old.endswith("\n")) and not content.endswith("\n"):
        content += end
    return content.encode("utf-8", "surrogatepass")


def _not(sentence) -> ToolResult:
    return ToolResult({"error": sentence})
