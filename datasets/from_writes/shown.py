"""A sample that is a write as its page shows it: every word that a row of an export would hold."""

from dataclasses import dataclass
from typing import Any

from openclaw_web.diffs import comparing

from ..exporters import writes
from ..exporters.writes import WRITE, WriteAnswer, WriteAsked


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a file, as `ui.diff` draws it."""

    diff: comparing.Diff
    view: comparing.View


@dataclass(frozen=True, slots=True)
class WriteShown:
    """What was asked and done, and what people said would have been right (`correction`, as it is stored).

    `change` is what was written, `right_change` from there to what would have been right; None where nothing was
    written or nobody knows.
    """

    asked: WriteAsked
    done: WriteAnswer | None
    change: Change | None
    correction: dict[str, Any]
    right_content: str | None
    right_change: Change | None


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
        change=None if written is None else _change(asked.content, written),
        correction=correction,
        right_content=right,
        right_change=None if written is None or right is None else _change(written, right),
    )


def _change(old, new):
    diff = comparing.compare(old, new)
    return Change(diff, comparing.view(diff))
