"""Scans the records of sessions that grew, are new, or were imported again."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from django.db.models import Count, Exists, OuterRef

from ledger.models import Session
from openclaw_web.sqlite import statements, write_queue

from . import finding_store, places
from .detection import Detection
from .finding_store import PERSON_RULE, REPLACED, Position, Step
from .models import Finding, FindingScan, Source
from .transcript_documents import Prefix, parse_prefix, read_part, read_prefix

RECORD = Source.RECORD.value
SESSIONS = 500  # that are read at once
MOST_IN_SESSION = 20_000  # findings in the records of one session
MOST_ADDED = 1_000  # findings that people added, of one session, that are compared with its new records
# What a session's row says of its records, spelled as transcript_documents.Prefix spells it.
OF_SESSION = "s.record_count || ':' || s.id_checksum || ':' || s.withheld_count"
UNSCANNED = f"""
    FROM sessions s LEFT JOIN finding_scans f ON f.source = 'record' AND f.session_id = s.id
    WHERE (f.id IS NULL OR f.rules <> %s OR f.fingerprint <> {OF_SESSION})
"""
READ = f"SELECT s.id, s.record_count {UNSCANNED} AND s.id > %s ORDER BY s.id LIMIT {SESSIONS}"
# A fingerprint begins with the number of scanned records. Where that is all of them, other records took their place.
COUNT = f"""
    SELECT coalesce(sum(CASE
        WHEN f.id IS NULL OR f.rules <> %s OR CAST(f.fingerprint AS INTEGER) >= s.record_count THEN s.record_count
        ELSE s.record_count - CAST(f.fingerprint AS INTEGER) END), 0) {UNSCANNED}
"""
IDS = f"SELECT s.id {UNSCANNED} LIMIT %s"
ANY = f"SELECT 1 {UNSCANNED} LIMIT 1"


def count_records(db: str, rules: int) -> int:
    """Count the records that were not scanned by these rules."""
    row = statements.read_row(db, COUNT, [rules, rules])
    return int(row[0]) if row else 0


def is_unscanned(db: str, rules: int) -> bool:
    """Whether a session has records that were not scanned by these rules."""
    return statements.read_row(db, ANY, [rules]) is not None


def find_unscanned(db: str, rules: int, most: int = 100_000) -> set[str]:
    """The sessions that have records that were not scanned by these rules; at most `most`."""
    return {session_id for (session_id,) in statements.read_rows(db, IDS, [rules, most])}


def iterate_unscanned(db: str, rules: int) -> Iterator[str]:
    """Yield the sessions with records that were not scanned by these rules, in constant memory."""
    last = ""
    while rows := statements.read_rows(db, READ, [rules, last]):
        yield from (session_id for session_id, _count in rows)
        last = rows[-1][0]


def scan_sessions(db: str, detection: Detection) -> Iterator[Step]:
    """Scan what was not scanned, in parts; the caller stores each part."""
    last = ""
    while rows := statements.read_rows(db, READ, [detection.version, last]):
        last = rows[-1][0]
        ids = [session_id for session_id, _count in rows]
        positions = finding_store.read_positions(db, RECORD, ids)
        known = Finding.objects.using(db).filter(session_id__in=ids, source=RECORD).values_list("session_id")
        counts = dict(known.annotate(Count("id")))
        for session_id in ids:
            position = positions.get(session_id, Position())
            yield from _scan_session(db, session_id, position, detection, counts.get(session_id, 0))


def _scan_session(db, session_id, position, detection, found_count):
    start, prefix, is_restart = position, parse_prefix(position.fingerprint), False
    if position.rules != detection.version or read_prefix(db, session_id, position.place) != prefix:
        start, prefix, is_restart = replace(position, place=-1), Prefix(), bool(position.rules)
    room = MOST_IN_SESSION - (0 if is_restart else found_count)
    while True:
        part = read_part(db, session_id, start.place)
        prefix = prefix.plus(part.records)
        after = Position(part.last_seq, str(prefix), detection.version)
        step = Step(RECORD, session_id, position, after, is_restart=is_restart)
        step.texts, step.size, step.unreadable = part.records.count, part.size, part.unreadable
        for rows, omitted in detection.find(Source.RECORD, part.documents):
            step.add(rows, omitted, room=room - len(step.rows))
        room -= len(step.rows)
        yield step
        if part.is_end:
            return
        position, start, is_restart = after, after, False


def remove_added(agent_id: str, db: str, session_ids: list[str]) -> None:
    """Remove findings that people added, where records do not hold their values any more."""
    rows = Finding.objects.using(db).filter(session_id__in=session_ids, source=RECORD, rule=PERSON_RULE)
    gone = [row for row in rows.order_by("id")[:MOST_ADDED] if places.read_value(db, row) is None]
    if gone:
        with write_queue.agent_transaction(db):
            finding_store.remove_rows(agent_id, db, rows.filter(id__in=[row.id for row in gone]))


def remove_deleted(agent_id: str, db: str) -> int:
    """Remove the findings of sessions that are not stored any more; return their number."""
    scans, lost, count = FindingScan.objects.using(db).filter(source=RECORD), _find_deleted(db), 0
    while ids := list(lost.order_by("session_id").values_list("session_id", flat=True)[:SESSIONS]):
        for session_id in ids:
            with write_queue.agent_transaction(db):
                finding_store.remove(agent_id, db, RECORD, session_id, with_added=True)
                scans.filter(session_id=session_id).delete()
        count += len(ids)
    return count


def has_deleted(db: str) -> bool:
    """Whether a session that was scanned is not stored any more."""
    return _find_deleted(db).exists()


def _find_deleted(db):
    session = Session.objects.using(db).filter(id=OuterRef("session_id"))
    return FindingScan.objects.using(db).filter(~Exists(session), source=RECORD)


def forget(db: str, session_ids: Iterable[str]) -> None:
    """Have the records of these sessions scanned from the first again: their contents were replaced."""
    with write_queue.agent_transaction(db):
        finding_store.save_positions(db, {(RECORD, session_id): REPLACED for session_id in session_ids})
