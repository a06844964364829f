"""Writes to memory files as the readers of write_guardian's files return them.

A value that a source lacks is None.
"""

import hashlib
from dataclasses import dataclass

import orjson

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
    reason: str | None = None
    decision_id: str | None = None
    turn_id: str | None = None
    session_key: str | None = None
    model: str | None = None
    latency_ms: int | None = None
    agent_steps: int | None = None
    snapshots: tuple[str | None, str | None] | None = None
    rollback: SourceRollback | None = None
    corrections: tuple[SourceCorrection, ...] = ()
    original_key: str | None = None
    workspace: str | None = None


def compute_write_id(at: int, kind: str, target_file: str, content: tuple[str | None, ...], ordinal: int) -> str:
    """Compute the id of a write whose source has none.

    The same line has the same id, however often it is read.
    """
    return hashlib.sha256(orjson.dumps([at, kind, target_file, *content, ordinal])).hexdigest()[:32]
