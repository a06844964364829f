"""A write to a memory file as a sample: what write_guardian was asked, what it did, and what it should have done."""

from dataclasses import dataclass
from typing import Any

WRITE = "write_guardian_decision"
WRITTEN, REFUSED = "written", "refused"
NO_FILE = "There is no such file yet."
NO_REASON = "none"
# Why a content is not that of the file which a correction names.
CONTENT_ELSEWHERE, CONTENT_STALE = "content_elsewhere", "content_stale"


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """What write_guardian was given: a fact, and the file as it was; `content` is None where there was none."""

    fact: str
    file: str
    content: str | None


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """What it did or should have done. `content` is the file afterwards; None: not known, or nothing was written."""

    status: str
    file: str
    reason: str
    content: str | None = None


def read_request(body: dict[str, Any]) -> WriteRequest:
    """What was asked, of the content of a sample. Samples of others always have a text for the file."""
    content = _text(body, "currentFileContent")
    return WriteRequest(_text(body, "candidateFact"), _text(body, "targetFile"), content if _existed(body) else None)


def read_answer(body: dict[str, Any]) -> WriteAnswer | None:
    """What was done, of the content of a sample."""
    status = _text(body, "decision")
    if not status:
        return None
    content = body.get("writtenContent")
    is_known = status == WRITTEN and isinstance(content, str)
    return WriteAnswer(status, _text(body, "targetFile"), _text(body, "decisionReason"), content if is_known else None)


def read_corrected_answer(output: dict[str, Any] | None, body: dict[str, Any]) -> WriteAnswer | None:
    """What people say should have been done (`guardian_corrected_output`); None: nothing."""
    if not output or not _text(output, "status"):
        return None
    file = _text(output, "targetFile") or _text(body, "targetFile")
    content = _text(output, "content") or None
    return WriteAnswer(output["status"], file, _text(output, "reason"), content)


def find_misfit(correction: WriteAnswer, body: dict[str, Any]) -> str:
    """Why what people say that a file should hold cannot be: the content of the other file, or nothing new.

    Empty where it can be. Whether a content is that of the other file is judged by its lines, without the fact: more
    than half of them, and more than it has of the file that it is for, where that is known.
    """
    if correction.status != WRITTEN or correction.content is None:
        return ""
    asked_, done_ = read_request(body), read_answer(body)
    written = done_.content if done_ else None
    if correction.file == asked_.file:
        return CONTENT_STALE if correction.content in (asked_.content, written) else ""
    right = body.get("userCorrection")
    right = right if isinstance(right, dict) and right.get("correctedFile") == correction.file else {}
    facts = [fact for fact in (asked_.fact, _text(right, "correctedFact")) if fact]
    content, known = _lines(correction.content, ()), _lines(_text(right, "correctedContent"), facts)
    for text in (asked_.content, written):
        lines = _lines(text or "", facts)
        shared = len(lines & content)
        if 2 * shared > len(lines) and shared > len(known & content):
            return CONTENT_ELSEWHERE
    return ""


def format_question(asked: WriteRequest) -> str:
    """What a model is given: the fact, the name of the file, and the file as it is."""
    held = NO_FILE if asked.content is None else f"Current content:\n{asked.content}"
    return f"Fact: {join_lines(asked.fact)}\nFile: {asked.file}\n{held}"


def format_answer(found: WriteAnswer) -> str:
    """What a model is to learn. What is refused ends with the reason; what is written with the whole file."""
    said = f"Decision: {found.status}\nReason: {join_lines(found.reason) or NO_REASON}"
    return said if found.status != WRITTEN else f"{said}\nFile: {found.file}\nContent:\n{found.content or ''}"


def join_lines(text: str) -> str:
    """A text without line breaks, and single blanks."""
    return " ".join(text.split())


def _lines(text, facts):
    """The lines of a file, without blank ones and those that say one of these facts."""
    lines = {line.strip() for line in text.splitlines()} - {""}
    return {line for line in lines if not any(fact in line for fact in facts)}


def _existed(body):
    return body.get("fileExisted") is not False


def _text(body, name):
    value = body.get(name)
    return value if isinstance(value, str) else ""
