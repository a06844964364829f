"""The active branch of a session as messages, and single records whole: what samples and exports are made of."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import trimming
from .models import TranscriptEvent
from .records import ToolCall, facts

MESSAGE_KINDS = {"user": "user", "assistant": "assistant", "tool_result": "tool"}
BATCH = 200


@dataclass(slots=True)
class BranchMessage:
    """One message of the active branch with its texts uncapped; `role` is user, assistant or tool."""

    seq: int
    record_id: str
    turn_number: int | None
    role: str
    text: str
    created_at: int
    thinking: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_failed: bool = False
    is_synthetic: bool = False


def branch_messages(db: str, session_id: str, *, upto_seq: int | None = None) -> Iterator[BranchMessage]:
    """The messages of the active branch in order, read in batches: no cursor stays open while the caller works."""
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id, is_active=True, kind__in=MESSAGE_KINDS)
    if upto_seq is not None:
        rows = rows.filter(seq__lte=upto_seq)
    after = -1
    columns = ("seq", "turn_number", "kind", "created_at", "event_json", "full_zstd")
    while batch := list(rows.filter(seq__gt=after).order_by("seq").values_list(*columns)[:BATCH]):
        for row in batch:
            yield _message(*row)
        after = batch[-1][0]


def full_record(event: TranscriptEvent) -> dict[str, Any]:
    """The whole record of a row, unpacked when its texts had to be capped."""
    return trimming.untrim(event.event_json, event.full_zstd)


def _message(seq, turn_number, kind, created_at, event_json, full_zstd):
    found = facts(trimming.untrim(event_json, full_zstd))
    return BranchMessage(
        seq=seq,
        record_id=found.record_id or "",
        turn_number=turn_number,
        role=MESSAGE_KINDS[kind],
        text=found.text,
        created_at=created_at,
        thinking=found.thinking,
        calls=found.calls,
        tool_call_id=found.tool_call_id,
        tool_name=found.tool_name,
        is_failed=found.is_failed,
        is_synthetic=found.is_synthetic,
    )
