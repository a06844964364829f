"""Reports of decisions by a plugin, its logs, a database or our own gate."""

from dataclasses import dataclass, field
from typing import Any

from ..models import GateCall, MemoryGateDecision
from .windows import Window

Origin, Match, Source = MemoryGateDecision.Origin, MemoryGateDecision.Match, MemoryGateDecision.Source
RANK = {Origin.RECORDED: 0, Origin.IMPORTED: 1, Origin.OWN: 2}  # lower goes first where several report one event


@dataclass(slots=True)
class Report:
    """A report of one decision.

    `row` is not stored yet; `window` is the input it was made on, where that is known.
    """

    row: MemoryGateDecision
    source: Source
    window: Window | None = None
    is_window_derived: bool = False
    body_sha256: str = ""  # hash of the whole report; empty: the report is not repeated under this id
    reply: str | None = None  # the reply it was made on, by which its turn is found
    other_key: str | None = None  # another key that the session may have

    @property
    def key(self) -> str:
        """Return the decision's id in the report."""
        return self.row.id


@dataclass(slots=True)
class StoreResult:
    """Ids of new rows and of known rows, and counts of withheld and unmatched decisions."""

    new: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)  # of `known`, those that another source had reported
    withheld: int = 0
    unmatched: int = 0
    ids: dict[str, str] = field(default_factory=dict)  # the row's id, by the id in the report


def build_failed_call(decision: Any, *, session_id: str, turn_id: str | None) -> GateCall:
    """Build the row of a plugin's call that failed, from a `SourceDecision`."""
    return GateCall(
        id=decision.id,
        turn_id=turn_id,
        session_id=session_id,
        origin=Origin.IMPORTED,
        llm_model=decision.model,
        outcome=GateCall.Outcome.MALFORMED if decision.failure == "missing_candidate_fact" else GateCall.Outcome.FAILED,
        failure=decision.failure,
        reason=decision.reason,
        llm_latency_ms=decision.latency_ms,
        created_at=decision.at,
    )
