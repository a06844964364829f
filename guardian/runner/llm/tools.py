"""Runs the three tools that a model may call.

They write nothing, and read only the five memory files.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agents.runners import calls
from agents.runners.calls import ModelRequest, Wait
from openclaw_web.errors import Refused
from openclaw_web.llm.client import Answer
from openclaw_web.sqlite.json_columns import encode

from ...files import MEMORY_FILES
from ...models import GuardianRun, GuardianStep
from ...services import bytes_to_text
from . import prompts
from .config import RUNNER, Guardian, compute_answer_limit
from .prompts import READ, REFUSE, ToolCall

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


MOST_KEPT = 4_000  # characters of each text that a step keeps
Messages = list[dict[str, Any]]


def run_tool_loop(
    db: str, guardian: Guardian, run: GuardianRun, tools: Tools, *, wait: Callable[[float], object]
) -> FactResult:
    """Ask a model about the fact of a run and return the result.

    The run's numbers are set, not stored. `wait` is called with the seconds to wait between two attempts. Raises
    LimitReached and CallFailed.
    """
    messages = prompts.build_opening(run.candidate_fact, run.target_file, guardian.prompt)
    most = compute_answer_limit(bytes_to_text(tools.target_content or b""))
    for number in range(1, guardian.most_steps + 1):
        step, answer = ask_model(db, guardian, run, number, messages, most, wait=wait)
        run.step_count, run.llm_latency_ms = number, run.llm_latency_ms + answer.latency_ms
        tool_call = prompts.parse_answer(answer)
        tool_result = tools.run_tool(tool_call)
        store_step(db, step, tool_call, tool_result)
        if tool_result.result:
            return tool_result.result
        messages += prompts.build_reply_messages(
            answer, tool_call, tool_result.answer | {"stepsLeft": guardian.most_steps - number}
        )
    return FactResult(End.NOTHING)


def ask_model(
    db: str, guardian: Guardian, run: GuardianRun, number: int, messages: Messages, most_answer: int, *, wait: Wait
) -> tuple[GuardianStep, Answer]:
    """Ask the model; return the step, still `sent`, and the answer.

    Raises LimitReached and CallFailed.
    """
    request = ModelRequest(
        row=lambda columns: GuardianStep(run=run, number=number, **columns),
        send=lambda: guardian.ask(messages, most_answer),
        cost=guardian.cost,
        prompt_tokens=prompts.estimate_tokens(messages),
        most_answer=most_answer,
        save_failed=lambda step, _failure: step.save(using=db, force_update=True),
    )
    return calls.send_request(RUNNER.allowance, db, request, wait=wait)


def store_step(db: str, step: GuardianStep, tool_call: ToolCall, tool_result: ToolResult) -> None:
    """Store the model's tool call and the tool's answer; long texts are cut."""
    step.outcome, step.tool = GuardianStep.Outcome.ANSWERED, tool_call.tool.encode("utf-8", "replace").decode()
    step.arguments, step.answer = _cut_texts(tool_call.arguments), encode(_cut_texts(tool_result.answer))
    step.save(using=db, force_update=True)


def _cut_texts(values):
    """Return an object whose long texts are cut, each with its length."""
    return {
        name: value
        if not isinstance(value, str) or len(value) <= MOST_KEPT
        else f"{value[:MOST_KEPT]}… ({len(value):,})"
        for name, value in values.items()
    }
