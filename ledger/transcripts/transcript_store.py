"""Stores transcripts: their records with everything derived, and rejected lines."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice

import orjson
from django.db import transaction

from agents.holdings import Holding
from openclaw_web.clock import now_ms
from openclaw_web.sqlite import statements
from openclaw_web.sqlite.rows import insert_sql

from .. import source_order
from ..collectors import lineage, projections
from ..collectors.jsonl import Line
from ..collectors.senders import WithheldReason
from ..models import RejectedRecord, Session
from ..outputs import output_stash
from ..outputs.output_stash import Outputs
from ..source_order import Ending
from . import day_sums, removal, session_holdings, tool_days, turns
from .late_projections import add_projections
from .opt_out_filter import OptOutFilter
from .rows import (
    EVENT_COLUMNS,
    TOTALS,
    RecordSums,
    Row,
    add_totals,
    build_row,
    fill_row,
    withhold_row,
)
from .trees import Node, Tree
from .unnamed_records import UnnamedRecords

CHUNK_LINES = 5_000
SESSION_COLUMNS = tuple(field.attname for field in Session._meta.concrete_fields)
INSERT_SESSION = insert_sql("sessions", SESSION_COLUMNS)
INSERT_EVENT = insert_sql("transcript_events", EVENT_COLUMNS)
UPDATE_SESSION = f"UPDATE sessions SET {', '.join(f'{name} = %s' for name in SESSION_COLUMNS)} WHERE id = %s"  # noqa: S608
CHUNK_BYTES = 24 * 1024 * 1024
PREVIEW = 2_000
UNKNOWN_ENVELOPE = "unknown_envelope"  # a reason among rejected lines whose record is stored all the same
# Raised by values that are too big, too deep or spelled wrongly; their record is rejected. A value of an unexpected
# type raises no error, because readers check types first: a TypeError is a bug (docs/decisions/0009).
UNFORESEEN = (OverflowError, RecursionError, ValueError)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Transcript:
    """One transcript file as `store_transcript` takes it.

    It says whose session it is, where it was found and in which state. `goes_on`: its lines are those that came after
    the ones that were stored before, not all it has.
    """

    session_id: str
    file: str
    modified_ms: int
    state: str = Session.State.LIVE
    opted_out: frozenset[str] = frozenset()
    session_key: str = ""  # for a session that no index has named yet
    goes_on: bool = False  # it is read from where the last reading stopped
    has_others: bool = False  # the session was read from other sources as well: see `source_order`
    hidden: frozenset[str] = frozenset()  # records that are withheld whoever sent them
    turn_numbers: Mapping[str, int] = field(default_factory=dict)  # of turns by record: as they were before
    names: Mapping[int, str] = field(default_factory=dict)  # of records without an id by offset: as they were before
    # Set when it is stored in the caller's transaction with other sessions: their rows before, until each is stored.
    batch: dict[str, Session | None] | None = None


@dataclass(slots=True)
class StoreResult:
    """The result of storing a file: new records, rejected lines, and the session's holding.

    `held` is the session's holding afterwards, None when no record was stored.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    withheld: Counter[str] = field(default_factory=Counter)  # by senders.Why
    unknown_envelopes: int = 0
    repeated: int = 0
    end: int = 0
    held: Holding | None = None
    added: Holding = field(default_factory=Holding)
    is_unsettled: bool = False  # which of the session's sources comes last can be told from all of them only

    @property
    def records(self) -> int:
        """How many records are new."""
        return self.kinds.total()

    def add(self, other: "StoreResult") -> None:
        """Add the result of a chunk."""
        self.kinds += other.kinds
        self.rejected += other.rejected
        self.withheld += other.withheld
        self.unknown_envelopes += other.unknown_envelopes
        self.repeated += other.repeated
        self.held, self.added = other.held, self.added.plus(other.added)


def store_transcript(
    db: str,
    transcript: Transcript,
    lines: Iterator[Line],
    *,
    outputs: Outputs | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> StoreResult:
    """Add the records of `lines` to a session; records that it has are counted and skipped.

    Each chunk is one transaction with everything that follows from it (turns, sums, branch, artifacts), so a process
    killed at any point leaves a store that the next run completes. `outputs` takes the big outputs of tools; without it
    the setting decides about them. `on_bytes(offset)` is called after each chunk.
    """
    stored, ending = StoreResult(), Ending()
    unnamed = UnnamedRecords(db, transcript.session_id, transcript.names, goes_on=transcript.goes_on)
    with output_stash.open_outputs(db) if outputs is None else nullcontext(outputs) as taken:
        while chunk := list(_read_chunk(lines)):
            stored.add(_store_or_retry(db, transcript, chunk, taken, unnamed, ending))
            stored.end = chunk[-1].end
            if on_bytes:
                on_bytes(stored.end)
    if ending.has_others and stored.records and (transcript.has_others or transcript.goes_on):
        stored.is_unsettled = not source_order.is_settled(db, transcript.session_id, ending)
    elif unnamed.is_respelled and not transcript.has_others:  # the source is right about it
        stored.is_unsettled = True
    if ending.has_others or ending.is_fork:
        source_order.refresh_title_and_model(db, transcript.session_id)
    return stored


def mark_state(db: str, session_id: str, state: str) -> None:
    """Set the state of a session whose file was renamed (reset, deleted) since it was read."""
    Session.objects.using(db).filter(id=session_id).exclude(source_state=state).update(source_state=state)


def store_rejected_lines(db: str, file: str, lines: Iterable[Line], *, session_id: str | None = None) -> None:
    """Store lines that hold no record, each once, with place and reason."""
    now = now_ms()
    RejectedRecord.objects.using(db).bulk_create(
        [
            RejectedRecord(
                file=file,
                byte_offset=line.offset,
                byte_length=line.end - line.offset,
                reason=line.reason,
                detail=line.detail[:500].encode(errors="replace").decode(),  # bytes that are no text
                raw_preview=line.raw[: PREVIEW * 4].decode(errors="replace").replace("\x00", "\ufffd")[:PREVIEW],
                session_id=session_id,
                created_at=now,
            )
            for line in lines
        ],
        ignore_conflicts=True,
    )


def _read_chunk(lines):
    size = 0
    for line in islice(lines, CHUNK_LINES):
        yield line
        size += len(line.raw)
        if size >= CHUNK_BYTES:
            return


def _store_or_retry(db, transcript, chunk, outputs, unnamed, ending):
    """Store a chunk in one transaction; without artifacts when their store cannot be written.

    In a batch the caller tries again without artifacts, because its transaction is rolled back.
    """
    stored, is_alone = StoreResult(), transcript.batch is None
    try:
        with transaction.atomic(using=db, durable=True) if is_alone else nullcontext():
            advanced = replace(ending)
            _store_chunk(db, transcript, chunk, stored, outputs, unnamed, advanced)
            outputs.save()
        ending.copy_from(advanced)
    except output_stash.UNWRITABLE as exc:
        outputs.give_up(exc.sentence)
        if not is_alone:
            raise
        return _store_or_retry(db, transcript, chunk, outputs, unnamed, ending)
    except BaseException:  # also a Ctrl-C: an output without a row must not get one from the next transaction
        outputs.discard()
        raise
    return stored


def _store_chunk(db, transcript, chunk, stored, outputs, unnamed, ending):
    # The session's row; a new one is saved at the end of the chunk.
    if transcript.batch and transcript.session_id in transcript.batch:
        session = transcript.batch.pop(transcript.session_id)
    else:
        statements.stop_gathering()  # what is stored of it is read below
        session = Session.objects.using(db).filter(id=transcript.session_id).first()
    if session is None:
        removal.clear_remains(db, transcript.session_id)
    session = session or Session(id=transcript.session_id, created_at=transcript.modified_ms, last_activity_at=0)
    known = turns.read_known_nodes(db, session) if session.record_count else {}
    leaves = session.leaves or [session.leaf_record_id]
    if not ending.is_begun:
        ending.is_begun, ending.earlier = True, tuple(filter(None, leaves))
        ending.goes_on = transcript.goes_on
        ending.is_alone = not (session.leaf_ids or transcript.has_others)
        ending.has_others = bool(session.leaf_ids or (known and (transcript.has_others or not transcript.goes_on)))
        ending.before = turns.build_last_row(session, known) if transcript.goes_on else None
        if transcript.goes_on and not ending.has_others:
            ending.leaf_id, ending.is_new = session.leaf_record_id, True
    ending.watched |= frozenset(leaves)
    rows = _build_new_rows(db, session, transcript, chunk, known, stored, outputs, unnamed, ending)
    if known and not transcript.opted_out and any(projections.SIGN in line.raw for line in chunk):
        add_projections(db, session.id, chunk, known)
    if headers := [line.record for line in chunk if line.record is not None and line.record["type"] == "session"]:
        session.parents = lineage.add_parents(session.parents, lineage.find_parents(headers))
    if ending.has_others or ending.closed:
        moments = {row.record_id: row.created_at for row in rows}
        session.leaves = source_order.find_leaves(db, session, ending, moments)
        session.leaf_record_id = session.leaves[-1] if session.leaves else None
        if ending.is_alone and session.leaves == [ending.leaf_id]:  # the same file once more
            session.leaf_ids = ""
    else:
        session.leaf_record_id = ending.leaf_id or session.leaf_record_id
    follows = zip(rows, [leaves[-1], *(row.record_id for row in rows)], strict=False)
    ending.is_fork |= bool(known) and any(row.parent_id != record_id for row, record_id in follows)
    has_moved = leaves != (session.leaves or [session.leaf_record_id])
    session.source_state = transcript.state
    if rows or has_moved:
        new_nodes = (Node(row.seq, row.record_id, row.parent_id, row.facts.kind == "user") for row in rows)
        tree = Tree([*(node for node, *_ in known.values()), *new_nodes])
        refresh, holes = turns.assign_turns(db, session, tree, rows, known, transcript.turn_numbers)
        if outputs.batch:
            outputs.set_turns(session.id, turns.find_user_records(rows, known))
        statements.run_many(db, INSERT_EVENT, [row.event(session.id) for row in rows])
        turns_by_day = turns.store_turns(db, session, rows, refresh, holes)
        turns.store_snapshots(db, session, tree, rows)
        if rows:
            tool_days.add(db, session, rows)
        stored.added = _add_sums(db, session, rows, turns_by_day)
    values = [getattr(session, column) for column in SESSION_COLUMNS]
    if session._state.adding:
        statements.run_many(db, INSERT_SESSION, [values])
    else:
        statements.run(db, UPDATE_SESSION, [*values, session.id])
    stored.held = session_holdings.get_holding(session)


def _build_new_rows(db, session, transcript, chunk, known, stored, outputs, unnamed, ending):
    """The rows that are not stored yet, numbered; `ending` is advanced to the chunk's end."""
    rows: list[Row] = []
    bad: list[Line] = []
    seen: dict[str, Line] = {}
    withholding = transcript.opted_out and OptOutFilter(session, known, transcript.opted_out, transcript.session_key)
    seq = max((node.seq for node, *_ in known.values()), default=-1)
    ids = [line.record.get("id") for line in chunk if line.record is not None] if known else ()
    unnamed.load_stored({name: known[name][0].seq for name in ids if isinstance(name, str) and name in known})
    for line in chunk:
        before = line.before or ending.before
        if line.record is None or (row := _try_build_row(line, before, transcript.modified_ms)) is None:
            bad.append(line)
            continue
        # Before the record is named, which may have the same id; one that no source has keeps its parent's other name.
        if line.before is None:
            row.parent_id = unnamed.find_parent(row, known)
        elif row.parent_id and row.parent_id == (line.before.record_id or "").rpartition("~")[0]:
            row.parent_id = line.before.record_id
        is_hidden = line.is_withheld or row.facts.record_id in transcript.hidden
        why = WithheldReason.EARLIER if is_hidden else withholding and withholding.find_reason(row, line.record)
        if row.facts.record_id is None:
            row.record_id = unnamed.find_name(line, known, seen, is_withheld=bool(why))
        elif row.record_id in known or row.record_id in seen or line.offset in transcript.names:
            row.record_id = unnamed.find_own_name(line, row, known, seen)
        if line.before is None:
            ending.advance(row, line.record, is_new=row.record_id not in known)
        else:
            ending.before = row
        if row.record_id in known or row.record_id in seen:
            stored.repeated += 1
            continue
        seen[row.record_id] = line
        if row.facts.sender.get("envelope"):
            stored.unknown_envelopes += 1
            bad.append(Line(line.offset, line.end, line.raw, None, UNKNOWN_ENVELOPE))
        if why:
            if withholding:
                withholding.hide(row)
            row = withhold_row(row)
            session.withheld_count += 1
            stored.withheld[why.value] += 1
        else:
            keep = outputs.build_keeper(session.id, row) if outputs.batch else None
            fill_row(row, _strip_projection(line, transcript), keep)
        seq += 1
        row.seq = seq
        rows.append(row)
    stored.kinds.update(row.facts.kind for row in rows)
    stored.rejected.update(line.reason for line in bad if line.reason != UNKNOWN_ENVELOPE)
    _reject_lines(db, transcript, bad)
    return rows


def _strip_projection(line, transcript):
    """The line, without the model's view of a message while somebody has opted out.

    That view may hold words of anybody.
    """
    if not transcript.opted_out or projections.SIGN not in line.raw:
        return line
    record = projections.without_projection(line.record)
    return line if record is line.record else replace(line, raw=orjson.dumps(record), record=record)


def _try_build_row(line, before, fallback_ms):
    """The row of a line's record, or None with the reason set in the line."""
    try:
        return build_row(line, before=before, fallback_ms=fallback_ms)
    except UNFORESEEN as exc:
        log.exception("a record at %s was not read", line.offset)
        line.record, line.reason, line.detail = None, "unforeseen", type(exc).__name__
        return None


def _reject_lines(db, transcript, bad):
    if transcript.opted_out:  # nobody can tell whose words a line without a place in the tree holds
        for line in bad:
            line.raw = b""
    if bad:
        store_rejected_lines(db, transcript.file, bad, session_id=transcript.session_id)


def _add_sums(db, session, rows, turns_by_day):
    """Add new rows to the sums of their session and its days; return their holding."""
    days: dict[str, RecordSums] = {}
    added, is_new = Holding(), not session.record_count
    for row in rows:
        days.setdefault(turns.utc_day(row.created_at), RecordSums()).add(row)
        session.compaction_count += row.facts.kind == "compaction"
        if row.facts.kind == "assistant" and not row.facts.is_synthetic and row.facts.model:
            session.model = row.facts.model
    if rows:
        moments = [row.created_at for row in rows]
        session.created_at = min(moments) if is_new else min(session.created_at, *moments)
        session.last_activity_at = max(session.last_activity_at, *moments)
        session.record_count += len(rows)
        kinds = Counter(row.facts.kind for row in rows)
        added = session_holdings.add(session, kinds, [row.record_id for row in rows])
    for sums in days.values():
        for name in TOTALS:
            setattr(session, name, add_totals(getattr(session, name), getattr(sums, name)))
    day_sums.add(db, session.id, days, turns_by_day, is_new=is_new)
    return added
