"""What is told of one decision, whoever tells it: a plugin, its logs, a database, or our own gate."""

from dataclasses import dataclass, field
from typing import Any

from ..models import GateCall, MemoryGateDecision
from .windows import Window

Origin, Match, Source = MemoryGateDecision.Origin, MemoryGateDecision.Match, MemoryGateDecision.Source
RANK = {Origin.RECORDED: 0, Origin.IMPORTED: 1, Origin.OWN: 2}  # whose word counts where several tell of one event


@dataclass(slots=True)
class Report:
    """One decision as it came in. `row` is not stored yet; `window` is what it was made on, where that is known."""

    row: MemoryGateDecision
    source: Source
    window: Window | None = None
    is_window_derived: bool = False
    body_sha256: str = ""  # of all that was told under this id; empty: nobody tells it under this id again
    reply: str | None = None  # the reply it was made on, to find its turn by
    other_key: str | None = None  # what else the session may be called

    @property
    def key(self) -> str:
        """Its id, as whoever told it says."""
        return self.row.id


@dataclass(slots=True)
class StoreResult:
    """What became of decisions that were told: ids of new rows, of rows that were there, and what was withheld."""

    new: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)  # of `known`, those that somebody else had told before
    withheld: int = 0
    unmatched: int = 0
    ids: dict[str, str] = field(default_factory=dict)  # the row's id, by the id that it was told under


def build_failed_call(found: Any, *, session_id: str, turn_id: str | None) -> GateCall:
    """The call behind a decision of the plugin that is none: `found` is a `collectors.found.FoundDecision`."""
    return GateCall(
        id=found.id,
        turn_id=turn_id,
        session_id=session_id,
        origin=Origin.IMPORTED,
        llm_model=found.model,
        outcome=GateCall.Outcome.MALFORMED if found.failure == "missing_candidate_fact" else GateCall.Outcome.FAILED,
        failure=found.failure,
        reason=found.reason,
        llm_latency_ms=found.latency_ms,
        created_at=found.at,
    )
