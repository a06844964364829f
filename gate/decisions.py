"""Reads decisions of memory_gate for pages of sessions and for checkpoints."""

from collections.abc import Collection, Iterable, Iterator

from ledger.checkpoints.decisions import Decision

from .models import MemoryGateDecision
from .recording.reports import RANK


def read_for_checkpoints(db: str, session_id: str, until: int) -> Iterator[Decision]:
    """Yield a session's decisions to write, made up to `until` (milliseconds), in order.

    A decision to write nothing states nothing that has to outlive a compaction.
    """
    rows = MemoryGateDecision.objects.using(db).filter(session_id=session_id, created_at__lte=until)
    rows = rows.exclude(decision=MemoryGateDecision.Decision.NO_WRITE).order_by("created_at", "id")
    for row in rows.only("turn_id", "decision", "reason", "candidate_fact", "created_at").iterator(chunk_size=500):
        record_id = row.turn_id.removeprefix(f"{session_id}:") if row.turn_id else None
        text = f"{row.decision}: {row.candidate_fact or row.reason}"
        yield Decision("memory_gate", text, record_id, None, row.created_at)


def find_by_turn(db: str, turn_ids: Collection[str]) -> dict[str, MemoryGateDecision]:
    """Return the decision that counts for each of these turns, by turn id.

    Turns without one are left out, and raw responses are not read. Where several decided on a turn: a recorded one goes
    before an imported one, that before one of our own gate; of equals the last counts.
    """
    rows = MemoryGateDecision.objects.using(db).filter(turn_id__in=turn_ids).defer("raw_response")
    return {row.turn_id: row for row in reversed(rank_decisions(rows)) if row.turn_id}


def rank_decisions(rows: Iterable[MemoryGateDecision]) -> list[MemoryGateDecision]:
    """Return decisions of one turn, the one that counts first."""
    latest = sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)
    return sorted(latest, key=lambda row: RANK[MemoryGateDecision.Origin(row.origin)])
