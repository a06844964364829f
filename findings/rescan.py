"""Scans again what changed since its scan.

Rows beside transcripts that a second report completed: each has a row of `finding_scans` under its own id until then.
And what people added, when SECRET_KEY changes: scans do not find it, so its hash is computed again from its text.
"""

from collections.abc import Collection, Iterator

from django.db.models import QuerySet

from openclaw_web.sqlite import write_queue

from . import finding_store, places
from .detection import Detection
from .documents import find_text
from .finding_store import PERSON_RULE, SUMMED, Position
from .models import Finding, FindingScan, Source
from .tables import BY_SOURCE
from .value_hash import compute_value_hash, read_key_mark

ROWS = 200  # that are scanned at once
PART = 500  # findings that are hashed at once
RULES = 1  # no scan has these rules


def note(db: str, source: str, ids: Collection[str]) -> None:
    """Note rows that changed, once their table was scanned; settings.CHANGED_ROWS names this.

    In the caller's transaction. A row that changes again while it is scanned stays noted: its number grows.
    """
    if not FindingScan.objects.using(db).filter(source=source, session_id="").exists():
        return
    known = finding_store.read_positions(db, source, list(ids))
    numbers = {row_id: known[row_id].place + 1 if row_id in known else 0 for row_id in ids}
    finding_store.save_positions(
        db, {(source, row_id): Position(place, "", RULES) for row_id, place in numbers.items()}
    )


def select_noted(db: str) -> QuerySet[FindingScan]:
    """The rows that changed after their scan."""
    return FindingScan.objects.using(db).filter(source__in=list(BY_SOURCE)).exclude(session_id="")


def scan_noted(agent_id: str, db: str, detection: Detection) -> int:
    """Scan rows that changed, and return the number of findings in them."""
    count = 0
    while noted := list(select_noted(db).order_by("id")[:ROWS]):
        for source in sorted({row.source for row in noted}):
            count += _scan_rows(agent_id, db, detection, [row for row in noted if row.source == source])
    return count


def _scan_rows(agent_id, db, detection, noted):
    table = BY_SOURCE[noted[0].source]
    ids = [row.session_id for row in noted]
    findings = list(_find(table, db, detection, ids))
    with write_queue.agent_transaction(db):
        old = Finding.objects.using(db).filter(source=table.source.value, source_id__in=ids).exclude(rule=PERSON_RULE)
        hashes = finding_store.remove_rows(agent_id, db, old)
        Finding.objects.using(db).bulk_create(findings, batch_size=finding_store.ROWS, ignore_conflicts=True)
        for row in noted:
            FindingScan.objects.using(db).filter(id=row.id, position=row.position).delete()
    finding_store.call_summary(agent_id, db, hashes | {row.value_hash for row in findings})
    return len(findings)


def _find(table, db, detection, ids) -> Iterator[Finding]:
    for rows, _omitted in detection.find(Source(table.source), list(table.read_documents(db, ids))):
        yield from rows


def follow_key(agent_id: str, db: str) -> None:
    """Hash what people added by the present SECRET_KEY, where a scan had another one.

    What scans found is found anew, because the version of the rules differs with the key.
    """
    noted = FindingScan.objects.using(db).filter(source=SUMMED).exclude(fingerprint__in=("", read_key_mark()))
    if not noted.exists():
        return
    rows, last = Finding.objects.using(db).filter(rule=PERSON_RULE).order_by("id"), 0
    while part := list(rows.filter(id__gt=last)[:PART]):
        changed = {row.value_hash for row in part}
        texts = places.read_documents(db, [(row.source, row.source_id) for row in part])
        with write_queue.agent_transaction(db):
            for row in part:
                document = texts.get((row.source, row.source_id))
                text = find_text(document.value, row.path) if document else None
                value = text[row.start : row.end] if text else ""
                value_hash = compute_value_hash(row.kind, value) if value else row.value_hash  # the text is gone
                Finding.objects.using(db).filter(id=row.id).update(value_hash=value_hash)
                changed.add(value_hash)
        finding_store.call_summary(agent_id, db, changed)
        last = part[-1].id
    with write_queue.agent_transaction(db):
        noted.update(fingerprint=read_key_mark())
