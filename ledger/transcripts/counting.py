"""How many records of each kind a session has: kept in the transaction that stores them, and counted from the rows."""

from collections import Counter, defaultdict
from collections.abc import Mapping

import orjson
from django.db.models import Count

from ..models import Session, TranscriptEvent

ORDER = orjson.OPT_SORT_KEYS


def known(session: Session) -> dict[str, int] | None:
    """What was noted of a session while its records were stored; None of one that an older version stored."""
    return orjson.loads(session.kind_counts) if session.kind_counts else None


def add(session: Session, kinds: Mapping[str, int]) -> None:
    """Count new records in; one that was never counted stays so until `count_again`."""
    if (counts := known(session)) is not None:
        session.kind_counts = told(Counter(counts) + Counter(kinds))


def rows_of(db: str, session_id: str | None = None) -> dict[str, Counter[str]]:
    """Session -> kind -> rows that are in the file now, of one session or of all. Reads every row's first columns."""
    rows = TranscriptEvent.objects.using(db).filter(**({"session_id": session_id} if session_id else {}))
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name, kind, count in rows.order_by().values_list("session_id", "kind").annotate(count=Count("*")):
        found[name][kind] = count
    return found


def uncounted(db: str) -> set[str]:
    """Sessions whose records an older version stored: nobody counted them by kind while it could see their source."""
    return set(Session.objects.using(db).filter(kind_counts="").values_list("id", flat=True))


def count_again(db: str, session_id: str) -> dict[str, int]:
    """Note what a session has now; for one whose sources were all just read and compared with it."""
    counts = rows_of(db, session_id).get(session_id, Counter())
    Session.objects.using(db).filter(id=session_id).update(kind_counts=told(counts))
    return dict(counts)


def told(counts: Mapping[str, int]) -> str:
    """Counts as the column holds them."""
    return orjson.dumps(dict(counts), option=ORDER).decode()
