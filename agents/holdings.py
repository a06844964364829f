"""What the store has to hold of each session: noted when a source was read, in another file than the records.

The notes are what the doctor compares the rows of an agent's file with; without them nobody could tell a session that
was lost from one that never was. A note is lowered only when sessions go on purpose.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import orjson
from django.db import transaction
from django.db.models import F

from openclaw_web.clock import now_ms

from .models import AgentDatabase, CollectedSession

Why = CollectedSession.Why
BATCH = 500


def note(agent_id: str, session_id: str, kind_counts: Mapping[str, int] | None, *, anew: bool = False) -> None:
    """Note what the store holds of a session now, by kind of record; call it where the source's place is saved.

    A number below the one noted is a loss and is not written down, unless the session was removed since, or `anew`
    says that it was just rebuilt from its sources. `None` (nobody counted) notes nothing.
    """
    if kind_counts is None:
        return
    count, kinds = sum(kind_counts.values()), orjson.dumps(kind_counts, option=orjson.OPT_SORT_KEYS).decode()
    with transaction.atomic():
        row = _row(agent_id, session_id)
        is_loss = not row.removed_why and row.record_count > count
        is_same = not row._state.adding and (row.kind_counts, row.removed_why) == (kinds, "")
        if is_same or (is_loss and not anew):
            return
        _add(agent_id, count - (0 if row.removed_why else row.record_count))
        row.kind_counts, row.record_count, row.removed_why = kinds, count, ""
        _save(row)


def note_removed(agent_id: str, session_ids: Iterable[str], why: str) -> None:
    """Note that sessions were taken out on purpose, and why (a value of `Why`): their absence is no loss."""
    for session_id in session_ids:
        with transaction.atomic():
            row = _row(agent_id, session_id)
            if row.removed_why != why:
                _add(agent_id, 0 if row.removed_why else -row.record_count)
                row.removed_why = why
                _save(row)


def _row(agent_id, session_id):
    known = CollectedSession.objects.filter(agent_id=agent_id, session_id=session_id).first()
    return known or CollectedSession(agent_id=agent_id, session_id=session_id)


def _save(row):
    row.noted_at = now_ms()
    row.save(force_insert=row._state.adding)


def _add(agent_id, count):
    AgentDatabase.objects.filter(agent_id=agent_id).update(record_count=F("record_count") + count)


def noted(agent_id: str) -> dict[str, Counter[str]]:
    """Session -> kind of record -> how many the store has to hold; without sessions that were taken out."""
    rows = CollectedSession.objects.filter(agent_id=agent_id, removed_why="").order_by()
    return {
        session_id: Counter(orjson.loads(kinds))
        for session_id, kinds in rows.values_list("session_id", "kind_counts").iterator(BATCH)
    }


def removed(agent_id: str) -> dict[str, str]:
    """Session -> why it was taken out."""
    rows = CollectedSession.objects.filter(agent_id=agent_id).exclude(removed_why="").order_by()
    return dict(rows.values_list("session_id", "removed_why"))


def kinds_of(agent_id: str, session_id: str) -> Counter[str]:
    """How many records of each kind the store has to hold of one session; none when nobody noted it."""
    rows = CollectedSession.objects.filter(agent_id=agent_id, session_id=session_id, removed_why="")
    return Counter(orjson.loads(rows.values_list("kind_counts", flat=True).first() or "{}"))


def count_of(agent_id: str, session_id: str) -> int:
    """How many records the store has to hold of one session; 0 when nobody noted it or it was taken out."""
    rows = CollectedSession.objects.filter(agent_id=agent_id, session_id=session_id, removed_why="")
    return rows.values_list("record_count", flat=True).first() or 0


def total(agent_id: str) -> int:
    """How many records an agent's file has to hold."""
    return AgentDatabase.objects.filter(agent_id=agent_id).values_list("record_count", flat=True).first() or 0
