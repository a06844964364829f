"""Decisions that hold what somebody said: for whoever has to decide about words that may not be kept any more."""

from collections.abc import Collection, Iterator

from ..models import MemoryGateDecision
from . import windows

CHUNK = 500


def of_sessions(db: str, session_ids: Collection[str]) -> Iterator[str]:
    """Ids of the decisions of sessions."""
    rows = MemoryGateDecision.objects.using(db).filter(session_id__in=session_ids)
    yield from rows.order_by("created_at", "id").values_list("id", flat=True).iterator(chunk_size=CHUNK)


def of_messages(db: str, session_id: str, record_ids: Collection[str], words: Collection[str]) -> Iterator[str]:
    """Ids of decisions of a session on turns that these records began, or whose gate saw one of these messages."""
    turns = {f"{session_id}:{record_id}" for record_id in record_ids}
    rows = MemoryGateDecision.objects.using(db).filter(session_id=session_id).order_by("created_at", "id")
    for row in rows.only("id", "turn_id", "window_hash").iterator(chunk_size=CHUNK):
        if row.turn_id in turns or _saw(db, row.window_hash, words):
            yield row.id


def _saw(db, window_hash, words):
    window = windows.read(db, window_hash)
    if window is None:
        return False
    seen = {message["message"] for message in window.recent} | {window.user, window.reply}
    return not seen.isdisjoint(words)
