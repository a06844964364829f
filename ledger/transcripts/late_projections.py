"""Adds texts that models saw to stored messages: OpenClaw writes them later."""

from collections.abc import Container, Iterable

import orjson

from ..collectors import projections
from ..collectors.jsonl import Line
from ..collectors.records import own_id
from ..models import ConversationTurn, TranscriptEvent
from . import trimming

BATCH = 200


def add_projections(db: str, session_id: str, lines: Iterable[Line], known: Container[str]) -> int:
    """Add projections of `lines` to stored messages without one, in the caller's transaction.

    `known` are the ids of stored records. Returns how many were added.
    """
    late = {}
    for line in lines:
        if line.record is not None and projections.SIGN in line.raw and (record_id := own_id(line.record)) in known:
            late[record_id] = projections.get_projection(line.record)
    ids, added = [record_id for record_id, projection in late.items() if projection], 0
    for start in range(0, len(ids), BATCH):
        rows = TranscriptEvent.objects.using(db).filter(session_id=session_id, event_id__in=ids[start : start + BATCH])
        for event in rows.filter(kind="user"):
            added += _add_projection(db, event, late[event.event_id])
    return added


def _add_projection(db, event, projection):
    record = trimming.untrim(event.event_json, event.full_zstd)
    if projections.get_projection(record) is not None or trimming.parse_stashed(event.trim_json):
        return False
    changed = projections.with_projection(record, projection)
    event_json, trim_json, full_zstd = trimming.trim(changed, orjson.dumps(changed))
    TranscriptEvent.objects.using(db).filter(session_id=event.session_id, seq=event.seq).update(
        event_json=event_json.decode(), trim_json=trim_json, full_zstd=full_zstd
    )
    return True


def read_model_prompt(turn: ConversationTurn) -> str | None:
    """The text of a turn's message as the model saw it, or None if unknown.

    OpenClaw does not record it of every message.
    """
    events = TranscriptEvent.objects.using(turn._state.db).filter(session_id=turn.session_id, seq=turn.first_seq)
    event = events.first()
    if event is None:
        return None
    return projections.get_projected_text(trimming.untrim(event.event_json, event.full_zstd)) or None
