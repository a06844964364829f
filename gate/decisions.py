"""Decisions of memory_gate, for whoever tells of a session."""

from collections.abc import Iterator

from ledger.checkpoints.decisions import Decision

from .models import MemoryGateDecision


def for_checkpoints(db: str, session_id: str, until: int) -> Iterator[Decision]:
    """The decisions of a session to write something, made up to `until` (milliseconds), in order.

    A decision that nothing be written states nothing that has to outlive a compaction.
    """
    rows = MemoryGateDecision.objects.using(db).filter(session_id=session_id, created_at__lte=until)
    rows = rows.exclude(decision=MemoryGateDecision.Decision.NO_WRITE).order_by("created_at", "id")
    for row in rows.only("turn_id", "decision", "reason", "candidate_fact", "created_at").iterator(chunk_size=500):
        record_id = row.turn_id.removeprefix(f"{session_id}:") if row.turn_id else None
        text = f"{row.decision}: {row.candidate_fact or row.reason}"
        yield Decision("memory_gate", text, record_id, None, row.created_at)
