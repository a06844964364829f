"""The number of a session's records by kind, and a checksum of their ids.

They are kept while records are stored, and can be counted from the rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import orjson
from django.db.models import Count

from agents.holdings import Holding, compute_checksum

from ..models import Session, TranscriptEvent


def get_holding(session: Session) -> Holding:
    """The holding of a session that was noted while its records were stored."""
    return Holding(Counter(orjson.loads(session.kind_counts)), session.id_checksum)  # of each session of an import


def add(session: Session, kinds: Mapping[str, int], ids: Iterable[str]) -> Holding:
    """Add new records to a session's holding, and return the holding of those alone."""
    added = Holding(Counter(kinds), compute_checksum(ids))
    now = get_holding(session).plus(added)
    session.kind_counts = orjson.dumps(now.kinds, option=orjson.OPT_SORT_KEYS).decode()
    session.id_checksum = now.checksum
    return added


def rows_of(db: str, session_id: str | None = None) -> dict[str, Counter[str]]:
    """Session -> kind -> number of rows now, of one session or of all.

    This reads the first columns of every row.
    """
    rows = TranscriptEvent.objects.using(db).filter(**({"session_id": session_id} if session_id else {}))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, kind, count in rows.order_by().values_list("session_id", "kind").annotate(count=Count("*")):
        counts[name][kind] = count
    return counts


def count_holding(db: str, session_id: str) -> Holding | None:
    """The holding of a session counted from its rows.

    None when rows do not belong together, as a record without its id.
    """
    kinds = rows_of(db, session_id).get(session_id, Counter())
    ids = list(_list_ids(db, session_id))
    return None if None in ids else Holding(kinds, compute_checksum(ids))


def recount_holding(db: str, session_id: str) -> Holding:
    """Count and store the holding of a session, and return it.

    For a session whose sources were all just read and compared with it.
    """
    checksum = compute_checksum(filter(None, _list_ids(db, session_id)))
    holding = Holding(rows_of(db, session_id).get(session_id, Counter()), checksum)
    Session.objects.using(db).filter(id=session_id).update(
        kind_counts=Session.kinds.encode(holding.kinds), id_checksum=checksum
    )
    return holding


def _list_ids(db, session_id):
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id)
    return rows.order_by().values_list("event_id", flat=True).iterator()
