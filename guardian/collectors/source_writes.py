"""What the readers of write_guardian's traces give: writes to memory files. What a source does not say is None."""

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
    """What somebody told the plugin a write should have been."""

    id: str
    at: int
    by: str
    original: tuple[str, str | None, str | None]  # status, fact, file
    corrected: tuple[str, str | None, str | None]
    reason: str
    pattern: str | None  # of facts to come, where it is to hold for them


@dataclass(frozen=True, slots=True)
class SourceWrite:
    """One write. `kind` is the decision it carried out, `snapshots` names both sides of the file in its source."""

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


def compute_write_id(at: int, kind: str, target_file: str, said: tuple[str | None, ...], ordinal: int) -> str:
    """The id of a write that was told without one: the same for the same line, however often it is read."""
    return hashlib.sha256(orjson.dumps([at, kind, target_file, *said, ordinal])).hexdigest()[:32]
