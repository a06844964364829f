"""Writes to memory files as the readers of write_guardian's files return them.

A value that a source lacks is None.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson

from gate.collectors import guardian_log
from gate.collectors.source_decisions import Rejection

from ..files import FILE_OF, MEMORY_FILES

STATUSES = ("written", "refused", "failed", "skipped", "rolled_back")


@dataclass(frozen=True, slots=True)
class SourceRollback:
    """A write that the plugin took back."""

    id: str
    at: int
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceCorrection:
    """A correction of a write that somebody gave the plugin."""

    id: str
    at: int
    by: str
    original: tuple[str, str | None, str | None]  # status, fact, file
    corrected: tuple[str, str | None, str | None]
    reason: str
    pattern: str | None  # of a rule for later facts; None: no rule


@dataclass(frozen=True, slots=True)
class SourceWrite:
    """One write, in the words of its source.

    `kind` is the decision that it carried out, and `snapshots` are the ids of both sides of the file in the source.
    """

    id: str
    at: int
    target_file: str
    status: str
    kind: str = ""
    fact: str | None = None
    session_key: str | None = None
    reported: dict[str, Any] = field(default_factory=dict)  # columns of the write, as far as the source has them
    snapshots: tuple[str | None, str | None] | None = None
    rollback: SourceRollback | None = None
    corrections: tuple[SourceCorrection, ...] = ()
    # A SourceDecision may have these; the owner of a decision and of a write is found by the same functions.
    original_key: str | None = None
    workspace: str | None = None


def compute_write_id(at: int, kind: str, target_file: str, content: tuple[str | None, ...], ordinal: int) -> str:
    """Compute the id of a write whose source has none.

    The same line has the same id, however often it is read.
    """
    return hashlib.sha256(orjson.dumps([at, kind, target_file, *content, ordinal])).hexdigest()[:32]


MAX_SEEN = 1_000  # writes of one moment, for the comparison with equal lines


class LogReader:
    """Reads the lines of one log.

    Equal lines are one write, however often they occur; `equal` counts the repeated ones.
    """

    def __init__(self) -> None:
        self.equal = 0
        self._seen: set[str] = set()
        self._moment: int | None = None

    def feed(self, line: bytes) -> SourceWrite | Rejection | None:
        """Return the write of a line, or its problem; None for an empty or repeated line."""
        entry = next(guardian_log.read([line]), None)
        if not isinstance(entry, guardian_log.WriteAttempt):
            return entry
        target = entry.target_file or FILE_OF[entry.decision]
        if target not in MEMORY_FILES:
            return Rejection("bad_write", f"unknown file {target[:120]}")
        content = (entry.status, entry.reason, entry.fact)
        write_key = compute_write_id(entry.at, entry.decision, target, content, 0)
        if self._is_equal(entry.at, write_key):
            self.equal += 1
            return None
        return SourceWrite(
            id=write_key,
            at=entry.at,
            target_file=target,
            status=entry.status,
            kind=entry.decision,
            fact=entry.fact or None,
            reported={"reason": entry.reason},
        )

    def _is_equal(self, at, id_):
        if at != self._moment or len(self._seen) >= MAX_SEEN:
            self._moment = at
            self._seen.clear()
        is_seen = id_ in self._seen
        self._seen.add(id_)
        return is_seen
