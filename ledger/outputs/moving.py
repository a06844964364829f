"""Bringing an older store up to date: its outputs become artifacts, and its sessions get their sums by tool.

A few records at a time: their outputs are durable before a short transaction puts previews in their place, together
with the rows of the artifacts. Whoever is killed in between leaves contents without a row, which the next run uses or
`gc` removes. What is moved already is passed over, so it can be run as often as anybody likes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import orjson
from django.db import transaction
from django.db.models import Q, Sum

from artifacts import services
from artifacts.models import Artifact
from openclaw_web.errors import Refused

from ..collectors.records import facts
from ..models import ConversationTurn, Session, SessionTool, TranscriptEvent, TranscriptEventIdentity
from ..transcripts import tool_days
from ..transcripts.rows import Row
from ..transcripts.trimming import stash_stored, untrim
from .stashing import Outputs

PAGE, PAGE_BYTES = 100, 8_000_000  # records of one transaction, and bytes of their rows
COLUMNS = ("seq", "created_at", "turn_number", "trim_json", "event_json")
MARK = '"stashed":'

Columns = tuple[bytes, str | None, bytes | None]


@dataclass(slots=True)
class Moved:
    """What was moved; `sessions` are those it was in, `counted` those whose sums by tool were made.

    `unreadable` are records whose own columns are damaged, which stay as they are.
    """

    sessions: int = 0
    counted: int = 0
    records: int = 0
    outputs: int = 0
    chars: int = 0
    unreadable: int = 0


@dataclass(slots=True)
class Page:
    """Records of one session that are moved together."""

    session_id: str
    events: list[TranscriptEvent]
    changed: list[tuple[TranscriptEvent, Columns]] = field(default_factory=list)


def move(db: str, *, on_session: Callable[[], None]) -> Moved:
    """Make artifacts of the big outputs that an agent's records hold, and the sums by tool that sessions lack.

    `on_session` hears after each session. Raises NoRoom or Damaged (both Refused) when the artifact store cannot be
    written; what was moved stays moved.
    """
    moved = Moved()
    last = ""
    while session_id := _next_session(db, last):
        before = moved.records
        _move_session(db, session_id, moved)
        moved.sessions += moved.records > before
        if _is_miscounted(db, session_id):
            tool_days.count_again(db, session_id)
            moved.counted += 1
        last = session_id
        on_session()
    return moved


def _next_session(db, last):
    return Session.objects.using(db).filter(id__gt=last).order_by("id").values_list("id", flat=True).first()


def _move_session(db, session_id, moved):
    seq = -1
    while page := _page(db, session_id, seq):
        seq = page.events[-1].seq
        with services.stashing(db, holds_rows=True) as batch:
            outputs = Outputs(batch)
            _prepare(db, page, outputs, moved)
            if page.changed:
                batch.flush()
                _write(db, page, outputs)
                moved.records += len(page.changed)


def _page(db, session_id, seq):
    results = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__gt=seq, kind="tool_result")
    results = results.filter(Q(trim_json=None) | ~Q(trim_json__contains=MARK)).order_by("seq").only(*COLUMNS)
    events, size = [], 0
    for event in results[:PAGE].iterator(chunk_size=20):
        events.append(event)
        size += len(event.event_json)
        if size > PAGE_BYTES:
            break
    return Page(session_id, events) if events else None


def _prepare(db, page, outputs, moved):
    """Stash what the records of a page hold, and find their new columns."""
    seqs = [event.seq for event in page.events]
    identities = TranscriptEventIdentity.objects.using(db).filter(session_id=page.session_id, seq__in=seqs)
    ids = dict(identities.values_list("seq", "event_id"))
    for event in page.events:
        try:
            record = _whole(event)
        except (Refused, orjson.JSONDecodeError):
            moved.unreadable += 1
            continue
        row = _row(event, record, ids[event.seq])
        if columns := stash_stored(record, event.trim_json, outputs.keeper(page.session_id, row)):
            page.changed.append((event, columns))
    moved.outputs += len(outputs)
    moved.chars += outputs.chars


def _whole(event):
    is_cut = event.trim_json is not None and "capped" in orjson.loads(event.trim_json)
    return untrim(event.event_json, event.full_zstd if is_cut else None)  # full_zstd is a query of its own


def _row(event, record, record_id):
    row = Row(record_id, None, event.created_at, facts(record), "", None, None, None)
    row.seq, row.turn_number = event.seq, event.turn_number
    return row


def _write(db, page, outputs):
    numbers = {event.turn_number for event, _columns in page.changed if event.turn_number}
    turns = ConversationTurn.objects.using(db).filter(session_id=page.session_id, turn_number__in=numbers)
    users = dict(turns.values_list("turn_number", "user_message_id"))
    with transaction.atomic(using=db, durable=True):
        for event, (event_json, trim_json, full) in page.changed:
            unchanged = TranscriptEvent.objects.using(db).filter(session_id=page.session_id, seq=event.seq)
            unchanged.filter(trim_json=event.trim_json).update(
                event_json=event_json.decode(), trim_json=trim_json, full_zstd=full
            )
        outputs.set_turns(page.session_id, users)
        outputs.save()


def _is_miscounted(db, session_id):
    """Whether a session has no sums by tool, or some that do not know of all its artifacts, as after a killed run."""
    if tool_days.uncounted(Session.objects.using(db).filter(id=session_id)).exists():
        return True
    uses = Artifact.objects.using(db).filter(session_id=session_id, kind=services.KIND, record_id__isnull=False)
    sums = SessionTool.objects.using(db).filter(session_id=session_id).aggregate(stashed=Sum("stashed_count"))
    return (sums["stashed"] or 0) < uses.count()
