"""Runs the three tools that a model may call.

They write nothing, and read only the five memory files.
"""

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
    """Result of a fact: the new content of the file, or why there is none."""

    end: End
    content: bytes = b""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Answer of a tool.

    `answer` is for the model; `result` is set by the last tool.
    """

    answer: dict[str, Any]
    result: FactResult | None = None


@dataclass(slots=True)
class Tools:
    """The tools for one fact.

    `read_file` returns what a memory file holds, None where there is none, and raises Refused for a file that nobody
    may touch. `target_content` is what the target file holds. `is_hidden` says of which files nothing may be sent.
    """

    target_file: str
    target_content: bytes | None
    read_file: Reads
    is_hidden: Callable[[str], bool]
    was_read: bool = field(default=False, init=False)

    def run_tool(self, tool_call: ToolCall) -> ToolResult:
        """Run the tool that a model called, or answer why that is not done."""
        if tool_call.fault:
            return _build_error(tool_call.fault)
        if tool_call.tool == REFUSE:
            return ToolResult(
                {"ok": True}, FactResult(End.REFUSE, reason=tool_call.arguments["reason"].strip()[:MOST_REASON])
            )
        return self._read(tool_call.arguments["file"]) if tool_call.tool == READ else self._write(**tool_call.arguments)

    def _read(self, name) -> ToolResult:
        if name not in MEMORY_FILES:
            return _build_error("There is no such memory file.")
        try:
            data = self.target_content if name == self.target_file else self.read_file(name)
        except Refused:  # a link, a file with a second name, or one that is too large
            return _build_error(UNREADABLE)
        if data is None:
            return ToolResult({"file": name, "missing": True})
        if self.is_hidden(name) or why_unreadable(data):
            return _build_error(UNREADABLE)
        self.was_read = self.was_read or name == self.target_file
        return ToolResult({"file": name, "content": data.decode()})

    def _write(self, file, content) -> ToolResult:
        if file != self.target_file:
            return _build_error(f"Only {self.target_file} can be written.")
        if self.target_content is not None and not self.was_read:
            return _build_error(f"Read {self.target_file} first.")
        data = fitted(self.target_content, content)
        if "\x00" in content or len(data) > MOST_CONTENT:
            return _build_error("The content holds NUL, or is too large.")
        if not content.strip():
            return _build_error("The content is empty. Nothing is ever emptied: refuse instead.")
        return ToolResult({"ok": True}, FactResult(End.WRITE, data))


def why_unreadable(data: bytes) -> str:
    """Return why a content is not sent to a model, in one word; empty otherwise."""
    if len(data) > MOST_CONTENT:
        return "size"
    try:
        return "bytes" if "\x00" in data.decode() else ""
    except UnicodeDecodeError:
        return "bytes"


def fitted(old_content: bytes | None, content: str) -> bytes:
    """Encode new content with the old content's line endings, BOM and last newline."""
    old = bytes_to_text(old_content or b"")
    if "\r\n" in old and "\n" not in old.replace("\r\n", ""):
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    if old.startswith("\ufeff") and not content.startswith("\ufeff"):
        content = f"\ufeff{content}"
    end = "\r\n" if old.endswith("\r\n") else "\n"
    if (not old or old.endswith("\n")) and not content.endswith("\n"):
        content += end
    return content.encode("utf-8", "surrogatepass")


def _build_error(sentence) -> ToolResult:
    return ToolResult({"error": sentence})
