"""Finds the decision, turn and session that caused a write.

They are reported, or found by fact, session key and time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording import turn_matching
from ledger.models import ConversationTurn

from ..files import FILE_OF

Match = MemoryGateDecision.Match
KINDS = {name: kind for kind, name in FILE_OF.items()}
BEFORE_MS = 60_000  # between a decision and its write
EARLY_MS = 2_000  # clocks differ


@dataclass(frozen=True, slots=True)
class WriteProvenance:
    """The provenance of a write, as far as it is known.

    `session_id` is a key where no session was found.
    """

    decision_id: str | None
    turn_id: str | None
    session_id: str | None
    session_key: str | None
    match: str

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the row of the write."""
        names = ("decision_id", "turn_id", "session_id", "session_key", "match")
        return {name: getattr(self, name) for name in names}


def find_decision(db: str, *, fact: str | None, at: int, kind: str = "", target_file: str | None = None) -> Any:
    """Return the decision that a write at the moment `at` carried out; None without one.

    It is the last one before the write with its fact and kind.
    """
    kind = kind or get_decision_kind(target_file)
    if not fact or not kind:
        return None
    rows = MemoryGateDecision.objects.using(db).filter(
        decision=kind, candidate_fact=fact, created_at__gte=at - BEFORE_MS, created_at__lte=at + EARLY_MS
    )
    return rows.defer("raw_response").order_by("-created_at", "-id").first()


def get_decision_kind(target_file: str | None) -> str:
    """Return the decision that leads to writes of a file: UPDATE_USER for USER.md."""
    return KINDS.get(target_file or "", "")


def from_decision(decision: MemoryGateDecision) -> WriteProvenance:
    """Return the provenance of a write with this decision."""
    return WriteProvenance(decision.id, decision.turn_id, decision.session_id, decision.session_key, decision.match)


def from_turn(turn: ConversationTurn, key: str | None, decision_id: str | None) -> WriteProvenance:
    """Return the provenance of a write whose source named its turn."""
    return WriteProvenance(decision_id, turn.id, turn.session_id, key, Match.GIVEN)


def match_by_time(agent: Agent, keys: Iterable[str | None], at: int) -> WriteProvenance:
    """Return the provenance of a write without a decision: its session's turn nearest in time."""
    known = [key for key in keys if key]
    if not known:
        return WriteProvenance(None, None, None, None, Match.NONE)
    match = turn_matching.match_turn(agent.db, agent.agent_id, known, at, None)
    return WriteProvenance(None, match.turn_id, match.session_id, known[0], match.match)
