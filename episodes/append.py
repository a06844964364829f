"""Appends events to the ledger of an agent, each with its link of the chain."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import dialect, inspection, rows, statements, write_queue
from openclaw_web.sqlite.json_columns import encode

from .chain import hashes, heads
from .events import NewEvent
from .models import REDACTED, SCHEMA_VERSION, EpisodicEvent

MOST_AT_ONCE = 1_000
COLUMNS = [field.attname for field in EpisodicEvent._meta.concrete_fields]
INSERT = rows.insert_sql(EpisodicEvent._meta.db_table, COLUMNS).replace("INSERT", dialect.INSERT_OR_FAIL, 1)
TEXTS = ("summary", "payload_json", "refs_json")
COMPARED = ("scope", "session_id", "agent_id", "type")
STORED = f"""SELECT event_id, ts_ms, {", ".join(COMPARED)}, {", ".join(TEXTS)}, redacted FROM episodic_events
    WHERE event_id IN (SELECT value FROM {dialect.json_array("listed")})"""  # noqa: S608 - constants


class EventExists(Refused):
    """There is another event with this id. `index` is the place in a batch, from 0."""

    index: int | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """Ids of new events, and of events that were there already with the same content."""

    new: list[str]
    known: list[str]


def append(db: str, events: Sequence[NewEvent], *, is_source: bool = False) -> Appended:
    """Append events, all or none.

    An event that is stored already is left as it is. Raises EventExists when it was another one. With `is_source` the
    events come from a source that is read again and again: whatever has the id of an event is that event.
    """
    with write_queue.agent_transaction(db):
        ids = encode([event.event_id for event in events])
        stored = {row[0]: row[1:] for row in statements.read_rows(db, STORED, [ids])}
        new: dict[str, NewEvent] = {}
        for index, event in enumerate(events):
            known = stored.get(event.event_id) or _as_stored(new.get(event.event_id))
            if known is None:
                new[event.event_id] = event
            elif not is_source and not _is_same(known, event):
                raise _build_refusal(index if len(events) > 1 else None)
        _insert(db, new.values())
    return Appended(list(new), [event.event_id for event in events if event.event_id not in new])


def _build_refusal(index):
    refusal = EventExists("event_id already exists")
    refusal.index = index
    return refusal


def _as_stored(event):
    if event is None:
        return None
    names = ("ts_ms", *COMPARED, *TEXTS, "is_redacted")
    return tuple(getattr(event, name) for name in names)


def _is_same(stored, event):
    """Whether an event is the stored one. Of a redacted one nobody knows the texts."""
    moment, *columns = stored
    is_redacted = columns.pop()
    texts = [] if is_redacted or event.is_redacted else [getattr(event, name) for name in TEXTS]
    own = [*(getattr(event, name) for name in COMPARED), *texts]
    return own == columns[: len(own)] and (not event.has_own_time or event.ts_ms == moment)


def _insert(db, events: Iterable[NewEvent]):
    events = list(events)
    if not events:
        return
    head = heads.read_head(db)
    chain_hash, created_at = head.chain_hash, format_utc(clock.now_ms())
    # Where the last events are lost, their numbers stay unused: verification names the hole.
    last_id = max(head.last_id, _read_last_number(db))
    values = []
    for row_id, event in enumerate(events, last_id + 1):
        row = _build_row(event, row_id, chain_hash, created_at)
        chain_hash = row[-1]
        values.append(row)
    statements.run_many(db, INSERT, values)
    # A trigger that somebody added may drop or change rows without an error.
    if heads.read_head(db) != heads.Head(values[-1][0], chain_hash):
        raise heads.DamagedLedger(_("The ledger did not store the events as given. Run: openclaw-web episodes verify"))


def _read_last_number(db):
    try:
        return inspection.read_last_number(db, EpisodicEvent._meta.db_table)
    except ValueError as exc:
        raise heads.DamagedLedger(_("The ledger is damaged: SQLite's number of its last event is wrong.")) from exc


def _build_row(event, row_id, previous, created_at):
    """Build the values of COLUMNS.

    An event that its source or capture redacted has the hash of no texts.
    """
    texts = (REDACTED, None, None) if event.is_redacted else (event.summary, event.payload_json, event.refs_json)
    salt = None if event.is_redacted else hashes.make_salt()
    content_hash = hashes.WITHHELD if salt is None else hashes.hash_content(salt, *texts)
    created_at = event.created_at or created_at
    linked = (event.event_id, event.ts_ms, event.scope, event.session_id, event.agent_id, event.type)
    chain_hash = hashes.hash_link(previous, row_id, (*linked, SCHEMA_VERSION, created_at), content_hash)
    return (row_id, *linked, *texts, int(event.is_redacted), SCHEMA_VERSION, created_at, salt, content_hash, chain_hash)


def format_utc(moment: int) -> str:
    """Return a time in milliseconds as the ISO text that the spec has, in UTC."""
    return datetime.fromtimestamp(moment / 1000, UTC).isoformat()
