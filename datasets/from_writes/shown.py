"""A sample that is a write as its page shows it: every word that a row of an export would hold."""

from dataclasses import dataclass
from typing import Any

from openclaw_web.diffs import unified

from ..exporters import writes
from ..exporters.writes import WRITE, WriteAnswer, WriteAsked


@dataclass(frozen=True, slots=True)
class WriteShown:
    """What was asked and done, and what people said would have been right (`correction`, as it is stored).

    `diff` is of what was written, `right_diff` from there to what would have been right; both unified texts, empty
    where nothing was written or nobody knows.
    """

    asked: WriteAsked
    done: WriteAnswer | None
    diff: str
    correction: dict[str, Any]
    right_content: str | None
    right_diff: str


def of(body: dict[str, Any]) -> WriteShown | None:
    """The same of the content of a sample; None when it is no write that has a file."""
    if body.get("type") != WRITE:
        return None
    asked, done = writes.asked(body), writes.done(body)
    found = body.get("userCorrection")
    correction = found if isinstance(found, dict) else {}
    right = correction.get("correctedContent")
    right = right if isinstance(right, str) else None
    written = done.content if done else None
    return WriteShown(
        asked=asked,
        done=done,
        diff="" if written is None else unified.of_texts(asked.content, written, asked.file),
        correction=correction,
        right_content=right,
        right_diff="" if written is None or right is None else unified.of_texts(written, right, asked.file),
    )
