"""Writes of sessions and of messages: for whoever has to decide about words that may not be kept any more."""

from collections.abc import Collection, Iterator

from ..models import WriteGuardianAudit

CHUNK = 200


def of_sessions(db: str, session_ids: Collection[str]) -> Iterator[str]:
    """Ids of the writes of sessions."""
    rows = WriteGuardianAudit.objects.using(db).filter(session_id__in=session_ids)
    yield from rows.order_by("created_at", "id").values_list("id", flat=True).iterator(chunk_size=CHUNK)


def of_messages(db: str, session_id: str, record_ids: Collection[str]) -> Iterator[str]:
    """Ids of writes from turns of a session that these records began."""
    for part in _parts([f"{session_id}:{record_id}" for record_id in record_ids]):
        yield from _of_turns(db, part)


def _parts(values):
    yield from (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))


def _of_turns(db, turn_ids):
    rows = WriteGuardianAudit.objects.using(db).filter(turn_id__in=turn_ids)
    return rows.order_by("created_at", "id").values_list("id", flat=True)
