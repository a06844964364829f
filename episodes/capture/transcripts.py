"""Captures transcript records: reads what was stored since the last time, in bounded batches.

A position is the last record that was read and how many records the file had up to it. Rows are numbered by arrival; a
session that is imported again gets new numbers, as all rows do when a file is compacted. So the position holds only
while the rows after it are exactly as many as were stored since. Otherwise everything is read again that happened since
capture was switched on: events that are stored already stay as they are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Substr

from agents.models import Agent, AgentDatabase
from ledger import consent
from ledger.models import ConversationTurn, TranscriptEvent
from openclaw_web import clock
from openclaw_web.clock import DAY_MS
from openclaw_web.sqlite import write_queue

from .. import retention
from ..append import append
from ..events import NewEvent, WrongEvent
from ..imports.source_events import select_unexpired
from ..models import EpisodeCapture, EpisodePolicy
from . import switches
from .transcript_events import CAPTURED_TYPES, KINDS, Context, build_events, find_scope

BATCH_SIZE = 200  # records of one transaction
TAG_CHARACTERS = 300  # of a turn's first message, which may begin with a scope
COLUMNS = (
    *("session_id", "seq", "created_at", "event_id", "kind", "turn_number", "is_failed", "repeat_of"),
    *("trim_json", "event_json", "full_zstd"),
)
Turns = dict[tuple[str, int | None], ConversationTurn]


@dataclass(slots=True)
class Ages:
    """Ages that retention leaves events, by scope and type."""

    db: str
    now_ms: int = field(default_factory=clock.now_ms)
    policies: dict[str, dict[str, int | None]] = field(default_factory=dict)

    def find_oldest(self) -> int:
        """Return the time before which no event of a transcript is kept in any scope."""
        policies = EpisodePolicy.objects.using(self.db).filter(type__in=CAPTURED_TYPES)
        days = [retention.DEFAULT_DAYS[name] for name in CAPTURED_TYPES] + list(policies.values_list("days", flat=True))
        return 0 if None in days else self.now_ms - max(filter(None, days)) * DAY_MS

    def is_expired(self, event: NewEvent) -> bool:
        """Return whether an event is so old that retention removes it, or has removed it."""
        if event.scope not in self.policies:
            self.policies[event.scope] = retention.read_policy(self.db, event.scope)
        days = self.policies[event.scope].get(event.type)
        return days is not None and event.ts_ms < self.now_ms - days * DAY_MS


def capture_transcripts(agent: Agent, capture: EpisodeCapture) -> int:
    """Append the events of records that are new in the store; return how many."""
    place = capture.positions.get(switches.TRANSCRIPTS) or {}
    start, count = _find_row_number(agent.db, place), AgentDatabase.get_record_count(agent.agent_id)
    if start is not None and _records(agent.db).filter(place__gt=start).count() == count - place["count"]:
        return _capture_new(agent, capture, start, place["count"])
    return _capture_again(agent, capture)


def _records(db):
    return TranscriptEvent.objects.using(db).placed()


def _find_row_number(db, place):
    """The row number of a position, 0 before the first record, None where it changed."""
    if place.get("count", switches.UNKNOWN_COUNT) < 0:
        return None
    if place["at"] is None:
        return 0
    session_id, seq, record_id = place["at"]
    if switches.find_record_id(db, session_id, seq) != record_id:
        return None
    return _records(db).filter(session_id=session_id, seq=seq).values_list("place", flat=True).first()


def _capture_new(agent, capture, start, count):
    """Read on from a row; each batch moves the position in its transaction."""
    new = 0
    while rows := list(_records(agent.db).filter(place__gt=start).order_by("place").only(*COLUMNS)[:BATCH_SIZE]):
        start, count = rows[-1].place, count + len(rows)
        place = switches.build_place(agent, (rows[-1].session_id, rows[-1].seq), count)
        new += _append_batch(agent, capture, rows, lambda at=place: switches.move(agent.db, switches.TRANSCRIPTS, at))
    return new


def _capture_again(agent, capture):
    """Read everything since the start, by time; the position moves at the end."""
    end = switches.build_place(agent, switches.find_last_row(agent.db))
    start = capture.positions.get(switches.START_MS, clock.now_ms())
    new, since = 0, (max(start, Ages(agent.db).find_oldest()), -1)
    while rows := _read_since(agent.db, *since):
        since = rows[-1].created_at, rows[-1].place
        new += _append_batch(agent, capture, rows)
    switches.move(agent.db, switches.TRANSCRIPTS, end)
    return new


def _read_since(db, moment, place):
    """The next records in the order of their time, then of their arrival."""
    rows = _records(db).only(*COLUMNS).order_by("created_at", "place")
    same = list(rows.filter(created_at=moment, place__gt=place)[:BATCH_SIZE])
    return same or list(rows.filter(created_at__gt=moment)[:BATCH_SIZE])


def _append_batch(agent, capture, rows, move: Callable[[], None] | None = None):
    events = select_unexpired(agent.db, list(_build_batch(agent, capture, rows)))
    if not events and move is None:
        return 0
    with write_queue.agent_transaction(agent.db):
        new = append(agent.db, events, is_source=True).new if events else []
        if move:
            move()
    return len(new)


def _build_batch(agent, capture, rows) -> Iterator[NewEvent]:
    """Build the events of records that are no copies, and whose words may be used."""
    rows = [row for row in rows if row.kind in KINDS and row.repeat_of is None]
    turns = _read_turns(agent.db, rows)
    usable, ages = _find_usable(agent.db, turns), Ages(agent.db)
    scope = switches.build_scope(agent, capture)
    for row in rows:
        turn = turns.get((row.session_id, row.turn_number))
        if row.event_id is None or not usable(turn):
            continue
        tagged = find_scope(turn.tag_text) if turn else None
        context = Context(agent.agent_id, tagged or scope, turn.id if turn else None, capture.allows_tool_output)
        yield from (event for event in _build_events(row, context) if not ages.is_expired(event))


def _build_events(row, context):
    try:
        return list(build_events(row, row.event_id, context))
    except WrongEvent:  # a record without a time, for example, can be no event
        return []


def _read_turns(db, rows: Sequence[Any]) -> Turns:
    """The turns of records, with the beginning of the first message as `tag_text`."""
    numbers = {row.turn_number for row in rows if row.turn_number is not None}
    turns = ConversationTurn.objects.using(db).filter(
        session_id__in={row.session_id for row in rows}, turn_number__in=numbers
    )
    turns = turns.annotate(tag_text=Substr("user_message_content", 1, TAG_CHARACTERS))
    return {
        (turn.session_id, turn.turn_number): turn
        for turn in turns.defer("user_message_content", "agent_message_content")
    }


def _find_usable(db, turns: Turns) -> Callable[[ConversationTurn | None], bool]:
    """Return the predicate that tells whether the words of a turn may be used."""
    if not consent.read_opted_out():
        return lambda _turn: True
    hidden = consent.find_withheld(db, turns.values())
    return lambda turn: turn is not None and turn.id not in hidden
