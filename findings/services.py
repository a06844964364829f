"""Stores the findings that people add."""

from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.clock import now_ms
from openclaw_web.detectors import spans
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue

from . import finding_store, places
from .documents import find_text
from .finding_store import PERSON_RULE
from .models import Finding, Source
from .value_hash import compute_value_hash

LONGEST_ADDED = 10_000  # characters of a value that a person adds


def add_finding(
    db: str, *, session_id: str, seq: int, path: str, start: int, end: int, kind: str = spans.CUSTOM
) -> Finding:
    """Store a finding that a person selected: characters `start` to `end` of a text.

    Returns its row, or the row of the same place. Raises Refused when there is no such text, or the selection is empty
    or too long.
    """
    source_id = f"{session_id}/{seq}"
    document = places.read_document(db, Source.RECORD.value, source_id)
    text = find_text(document.value, path) if document else None
    if document is None or text is None:
        raise Refused(_("The text that was selected is not stored any more."))
    if kind not in spans.KINDS or kind == spans.NOT_FULLY_SCANNED:
        raise Refused(_("There is no kind of finding %(kind)s.") % {"kind": kind[:80]})
    if not (0 <= start < end <= len(text)) or end - start > LONGEST_ADDED or not text[start:end].strip():
        raise Refused(_("Select between 1 and %(most)s characters.") % {"most": f"{LONGEST_ADDED:,}"})
    value_hash = compute_value_hash(kind, text[start:end])
    place = {"source": Source.RECORD.value, "source_id": source_id, "path": path, "start": start, "end": end}
    more: dict[str, Any] = {
        "session_id": session_id,
        "turn_number": document.turn_number,
        "kind": kind,
        "rule": PERSON_RULE,
    }
    more |= {"confidence": 1.0, "value_hash": value_hash, "found_at": now_ms()}
    with write_queue.agent_transaction(db):
        row, is_new = Finding.objects.using(db).get_or_create(**place, defaults=more)
        # So that the finding is removed with its session, which no scan may have seen.
        finding_store.note_source(db, Source.RECORD.value, session_id)
    if is_new:
        finding_store.call_summary(db.removeprefix("agent_"), db, {row.value_hash})
    return row
