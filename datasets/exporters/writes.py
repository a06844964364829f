"""Writes to memory files as samples: the request, the answer and the correction.

write_guardian gets the request and gives the answer.
"""

from dataclasses import dataclass
from typing import Any

WRITE = "write_guardian_decision"
WRITTEN, REFUSED = "written", "refused"
NO_FILE = "There is no such file yet."
NO_REASON = "none"
# Why a content cannot be that of the file which a correction names.
CONTENT_ELSEWHERE, CONTENT_STALE = "content_elsewhere", "content_stale"


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A request to write_guardian: a fact, and the file as it was.

    `content` is None where there was no such file.
    """

    fact: str
    file: str
    content: str | None


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """An answer of write_guardian, or the one that it should have given.

    `content` is the file afterwards; None: not known, or not written.
    """

    status: str
    file: str
    reason: str
    content: str | None = None


def read_request(body: dict[str, Any]) -> WriteRequest:
    """The request in the content of a sample.

    Samples that other programs made always have a text for the file.
    """
    content = _text(body, "currentFileContent")
    return WriteRequest(_text(body, "candidateFact"), _text(body, "targetFile"), content if _has_file(body) else None)


def read_answer(body: dict[str, Any]) -> WriteAnswer | None:
    """The answer in the content of a sample, None when there is none."""
    status = _text(body, "decision")
    if not status:
        return None
    content = body.get("writtenContent")
    is_known = status == WRITTEN and isinstance(content, str)
    return WriteAnswer(status, _text(body, "targetFile"), _text(body, "decisionReason"), content if is_known else None)


def read_corrected_answer(output: dict[str, Any] | None, body: dict[str, Any]) -> WriteAnswer | None:
    """The answer in a correction (`guardian_corrected_output`), None when it has none."""
    if not output or not _text(output, "status"):
        return None
    file = _text(output, "targetFile") or _text(body, "targetFile")
    content = _text(output, "content") or None
    return WriteAnswer(output["status"], file, _text(output, "reason"), content)


def find_misfit(correction: WriteAnswer, body: dict[str, Any]) -> str:
    """The reason why a corrected content cannot be that of its file; empty if it can.

    CONTENT_ELSEWHERE: it is the content of the other file. CONTENT_STALE: it says nothing new. Whether a content is
    that of the other file is judged by its lines, without the fact: more than half of them, and more than it shares
    with the file that it is for, where that is known.
    """
    if correction.status != WRITTEN or correction.content is None:
        return ""
    request, original = read_request(body), read_answer(body)
    written = original.content if original else None
    if correction.file == request.file:
        return CONTENT_STALE if correction.content in (request.content, written) else ""
    user_correction = body.get("userCorrection")
    user_correction = (
        user_correction
        if isinstance(user_correction, dict) and user_correction.get("correctedFile") == correction.file
        else {}
    )
    facts = [fact for fact in (request.fact, _text(user_correction, "correctedFact")) if fact]
    content, known = _lines(correction.content, ()), _lines(_text(user_correction, "correctedContent"), facts)
    for text in (request.content, written):
        lines = _lines(text or "", facts)
        shared = len(lines & content)
        if 2 * shared > len(lines) and shared > len(known & content):
            return CONTENT_ELSEWHERE
    return ""


def format_question(request: WriteRequest) -> str:
    """Format a request as a model gets it: fact, name of the file, current content."""
    content_text = NO_FILE if request.content is None else f"Current content:\n{request.content}"
    return f"Fact: {join_lines(request.fact)}\nFile: {request.file}\n{content_text}"


def format_answer(write_answer: WriteAnswer) -> str:
    """Format an answer as a model is to learn it.

    A refusal ends with the reason, a write with the whole file.
    """
    text = f"Decision: {write_answer.status}\nReason: {join_lines(write_answer.reason) or NO_REASON}"
    return (
        text
        if write_answer.status != WRITTEN
        else f"{text}\nFile: {write_answer.file}\nContent:\n{write_answer.content or ''}"
    )


def join_lines(text: str) -> str:
    """A text without line breaks, and single blanks."""
    return " ".join(text.split())


def _lines(text, facts):
    """The lines of a file, without blank ones and those that say one of these facts."""
    lines = {line.strip() for line in text.splitlines()} - {""}
    return {line for line in lines if not any(fact in line for fact in facts)}


def _has_file(body):
    return body.get("fileExisted") is not False


def _text(body, name):
    value = body.get(name)
    return value if isinstance(value, str) else ""
