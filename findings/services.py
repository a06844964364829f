"""Changes findings on behalf of people, and lists them by value."""

from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import Count, QuerySet
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
ROWS = 1_000


def set_state(
    db: str, state: str, *, value_hash: str | None = None, rule: str | None = None, place: str | None = None
) -> int:
    """Set the state of findings of a value, a rule or a place; return their number.

    Several of these narrow the findings together. Raises ValueError without any, and for what is no place.
    """
    columns = {"value_hash": value_hash, "rule": rule}
    chosen: dict[str, Any] = {name: value for name, value in columns.items() if value is not None}
    chosen |= places.parse_place(place) if place is not None else {}
    if not chosen:
        raise ValueError(_("Name a value, a rule or a place."))
    rows = Finding.objects.using(db).filter(**chosen).exclude(state=state)
    with write_queue.agent_transaction(db):
        return rows.update(state=state)


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
    if kind not in spans.KINDS:
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
    more |= {"confidence": 1.0, "value_hash": value_hash, "state": Finding.State.ADDED.value, "found_at": now_ms()}
    with write_queue.agent_transaction(db):
        row, is_new = Finding.objects.using(db).get_or_create(**place, defaults=more)
        # So that the finding is removed with its session, which no scan may have seen.
        finding_store.note_source(db, Source.RECORD.value, session_id)
    if is_new:
        finding_store.call_summary(db.removeprefix("agent_"), db, {row.value_hash})
    return row


def count_by_value(db: str, hashes: Collection[str]) -> dict[str, int]:
    """Count the places of values in an agent's file; values without places are left out."""
    rows = Finding.objects.using(db).filter(value_hash__in=list(hashes)).order_by()
    return dict(rows.values_list("value_hash").annotate(places=Count("id")))


def list_value(db: str, value_hash: str) -> QuerySet[Finding]:
    """The findings of a value in an agent's file, the first one first."""
    return Finding.objects.using(db).filter(value_hash=value_hash).order_by("id")


def list_turn(db: str, session_id: str, turn_number: int) -> QuerySet[Finding]:
    """The findings in the records and rows of a turn, the first one first."""
    return Finding.objects.using(db).filter(session_id=session_id, turn_number=turn_number).order_by("id")


def iterate_values(db: str) -> Iterator[str]:
    """Yield the hash of every value of an agent's file once, in their order."""
    last = ""
    rows = Finding.objects.using(db).order_by("value_hash").values_list("value_hash", flat=True).distinct()
    while hashes := list(rows.filter(value_hash__gt=last)[:ROWS]):
        yield from hashes
        last = hashes[-1]
