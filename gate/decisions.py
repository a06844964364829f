"""Decisions of memory_gate, for whoever tells of a session."""

from collections.abc import Collection, Iterable, Iterator

from ledger.checkpoints.decisions import Decision

from .models import MemoryGateDecision
from .recording.reports import RANK


def read_for_checkpoints(db: str, session_id: str, until: int) -> Iterator[Decision]:
    """The decisions of a session to write something, made up to `until` (milliseconds), in order.

    A decision that nothing be written states nothing that has to outlive a compaction.
    """
    rows = MemoryGateDecision.objects.using(db).filter(session_id=session_id, created_at__lte=until)
    rows = rows.exclude(decision=MemoryGateDecision.Decision.NO_WRITE).order_by("created_at", "id")
    for row in rows.only("turn_id", "decision", "reason", "candidate_fact", "created_at").iterator(chunk_size=500):
        record_id = row.turn_id.removeprefix(f"{session_id}:") if row.turn_id else None
        text = f"{row.decision}: {row.candidate_fact or row.reason}"
        yield Decision("memory_gate", text, record_id, None, row.created_at)


def find_by_turn(db: str, turn_ids: Collection[str]) -> dict[str, MemoryGateDecision]:
    """The decision that counts for each of these turns that has one, by turn id, without its raw response.

    Where several judged a turn: a recorded one before an imported one before one of our own gate, of those the last.
    """
    rows = MemoryGateDecision.objects.using(db).filter(turn_id__in=turn_ids).defer("raw_response")
    return {row.turn_id: row for row in reversed(rank_decisions(rows)) if row.turn_id}


def rank_decisions(rows: Iterable[MemoryGateDecision]) -> list[MemoryGateDecision]:
    """Decisions of one turn, the one that counts first."""
    latest = sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)
    return sorted(latest, key=lambda row: RANK[MemoryGateDecision.Origin(row.origin)])
