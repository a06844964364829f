"""Imports a session again from all its sources.

It is made in an empty file first, and then exchanged for the stored one in one transaction. Stored records that no
source holds any more are put back where they were. Evidence is not touched; it names turns and records by ids, which
are the same afterwards.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import orjson
from django.db import transaction
from django.utils.translation import gettext as _

from agents.holdings import Holding, compute_checksum
from artifacts import handles
from artifacts.models import Artifact
from artifacts.store import verification
from openclaw_web.errors import Refused
from openclaw_web.sqlite import dialect, json_columns, statements, tables, upkeep
from openclaw_web.sqlite.dialect import ATTACHED, MAIN
from openclaw_web.sqlite.row_comparison import NONE, RowDifference, compare_rows

from .. import index_rows, source_order
from ..collectors.envelopes import content_digest
from ..collectors.session_index import IndexEntry
from ..models import (
    ConversationTurn,
    PromptReport,
    RejectedRecord,
    Session,
    ToolDay,
    TranscriptEvent,
)
from ..outputs import output_stash
from ..transcripts import session_holdings, tool_days, transcript_store, turns
from ..transcripts.trimming import untrim
from . import sums
from .session_sources import WITHHELD, KeptRecords, SessionSource, order_sources

# Tables of which a session does not own all rows that it makes, with the columns that may differ.
SHARED = {
    PromptReport: frozenset(),
    Artifact: frozenset({"created_at", "stored_bytes", "is_compressed"}),  # as its content was stored first
    RejectedRecord: frozenset({"id", "created_at"}),
}
# Lines that are rejected depending on what was read before or together with them.
UNDECIDED = "('duplicate_id', 'unknown_envelope')"
DAMAGED = "damaged"  # a content that is missing, or is not the one of its hash
SPELLED = frozenset({"event_json", "full_zstd", "trim_json"})  # columns with the words of a record
PLACED = frozenset({"turn_number", "is_active", "repeat_of"})  # columns of a record that other records decide
# Columns that come from the session index, not from transcripts.
INDEXED = (
    *("session_key", "origin", "channel_id", "conversation_target", "account_id", "metadata", "prompt_report_id"),
    "parents",
)


@dataclass(slots=True)
class ReimportResult:
    """The changes to one session that was imported again.

    `held` is what the session has now; `withheld` are records whose content was removed. `kept_count` counts the
    records without a source.
    """

    is_changed: bool = False
    is_new: bool = False
    added: Counter[str] = field(default_factory=Counter)
    kept_count: int = 0
    moved: Counter[str] = field(default_factory=Counter)  # records that belong to another session, by kind
    withheld: list[str] = field(default_factory=list)
    kind_changes: Counter[tuple[str, str]] = field(default_factory=Counter)  # of stored records: before, now
    words: set[str] = field(default_factory=set)  # the texts of those, to find other places that hold them
    artifacts: list[str] = field(default_factory=list)  # handles that no record of the session uses any more
    held: Holding = field(default_factory=Holding)


class UnreadableOutput(Refused):
    """A stored record without a source has an output that cannot be read."""


@dataclass(slots=True)
class SessionComparison:
    """A stored session, compared with one that was made from its sources.

    `rows` are all rows that differ. Of the records of its sources, by kind: all, the missing ones, those with another
    content, and of these the ones that are stored as another kind.
    """

    session_id: str
    rows: list[RowDifference] = field(default_factory=list)
    kept_count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    different: Counter[str] = field(default_factory=Counter)
    renamed: Counter[str] = field(default_factory=Counter)


def reimport_session(
    db: str,
    beside: str,
    session_id: str,
    parts: list[SessionSource],
    entry: IndexEntry | None,
    *,
    stashes: bool,
    moved: Sequence[SessionSource] = (),
) -> ReimportResult:
    """Make a session of an agent's file `db` again from `parts`, its sources.

    Of several sources the last one of `source_order` is read last. `beside` is an empty agent's file, `entry` the
    session's entry in the index. Records keep their ids and turns their numbers; the words of people who opted out are
    withheld now. When everything is as it was, no row is written. `moved` are sources that were taken for this
    session's and belong to another: records that only they hold are removed.
    """
    kept_records = _make_session(db, beside, session_id, parts, entry, stashes=stashes, moved=moved)
    is_from_records = not any(part.transcript.file or part.transcript.opted_out for part in parts)
    if is_from_records and kept_records.unreadable:  # its row is all that is left of an output
        return ReimportResult()
    if not Session.objects.using(beside).filter(id=session_id).exists():  # sources without a single record
        return ReimportResult()
    exchange = _Exchange(db, beside, session_id, parts, len(kept_records.places))
    exchange.result.moved = kept_records.moved
    return exchange.run()


def compare_session(
    db: str,
    beside: str,
    session_id: str,
    parts: list[SessionSource],
    entry: IndexEntry | None,
    *,
    stashes: bool,
    contents: Path,
    read_files: Collection[str],
) -> SessionComparison:
    """Make a session beside the stored one, as `reimport_session` does, and compare all their rows.

    Nothing is written but the file `beside` and the folder `contents`, which gets the outputs of tools. Rejected lines
    of `read_files` are compared, of sources that were read under these names. Raises UnreadableOutput.
    """
    old = Session.objects.using(db).filter(id=session_id).first()
    for part in parts if old else ():  # where a source is now is known at the next import
        part.transcript.state = old.source_state
    kept_records = _make_session(db, beside, session_id, parts, entry, stashes=stashes, contents=contents)
    if old and old.title:  # an earlier index may have given it
        Session.objects.using(beside).filter(id=session_id).update(title=old.title)
    if kept_records.unreadable:
        words = {"record": min(kept_records.unreadable)}
        raise UnreadableOutput(_("An output of record %(record)s cannot be read") % words)
    kept_ids = kept_records.places.keys()
    compared = SessionComparison(session_id, kept_count=len(kept_ids))
    handles_made = set(Artifact.objects.using(beside).values_list("handle", "record_id"))
    damaged = verification.verify(sorted({handles.parse(handle) for handle, _record in handles_made})).problems
    damaged_handles = {problem["id"] for problem in damaged}
    files = [part.transcript.file for part in parts if part.transcript.file in read_files]
    differences = partial(_find_differences, db, session_id, files, has_previews=not _is_opted_out(parts))
    with upkeep.attach_database(db, beside):
        compared.rows = [row for row in differences() if not _says_the_same(db, beside, row)]
        stored, made = (
            {record_id: (kind, seq) for record_id, kind, seq in statements.read_rows(db, query, [session_id])}
            for query in (IDS_AND_KINDS.format(where=where) for where in (MAIN, ATTACHED))
        )
    unlike = {record_id for handle, record_id in handles_made if handle in damaged_handles} & stored.keys()
    compared.rows += [
        RowDifference("artifacts", (handle,), DAMAGED) for handle, name in sorted(handles_made) if name in unlike
    ]
    of_seq = {seq: record_id for record_id, (_kind, seq) in made.items()}
    for row in compared.rows:
        if row.table == _table(TranscriptEvent) and not PLACED.issuperset(row.columns):
            unlike.add(of_seq.get(row.key[1]))
    for record_id, (kind, _seq) in made.items():
        if record_id in kept_ids:
            continue
        compared.kinds[kind] += 1
        if record_id not in stored:
            compared.missing[kind] += 1
        elif record_id in unlike and kind != WITHHELD:  # words that are to be withheld are not lost
            compared.different[kind] += 1
            compared.renamed[kind] += stored[record_id][0] != kind
    return compared


def _is_opted_out(parts):
    """Whether somebody has opted out, while these sources are read."""
    return any(part.transcript.opted_out for part in parts)


def _says_the_same(db, beside, row):
    """Whether only the spelling or the packing of a record differs, as in a copy of it in another source."""
    if row.table != _table(TranscriptEvent) or not row.columns or not SPELLED.issuperset(row.columns):
        return False
    place = dict(zip(("session_id", "seq"), row.key, strict=True))
    try:
        events = [TranscriptEvent.objects.using(alias).get(**place) for alias in (db, beside)]
        orjson.loads(events[0].trim_json or "null")  # a damaged one says nothing, as none does
        stored, made = (content_digest(untrim(row.event_json, row.full_zstd, row.trim_json)) for row in events)
    except (Refused, ValueError, LookupError, TypeError, AttributeError):  # the stored text is no record
        return False
    return stored == made


def _make_session(db, beside, session_id, parts, entry, *, stashes, moved=(), contents=None) -> KeptRecords:
    """Make a session from its sources and kept records in `beside`, which is emptied first."""
    for model in (ToolDay, *reversed(tables.list_models(tables.OF_SESSIONS))):
        statements.run(beside, f"DELETE FROM {_table(model)}")  # noqa: S608 - our tables
    parts = order_sources(parts)
    kept_records = KeptRecords(db, session_id, parts, moved)
    # Create the session with its index entry, as it is now or was read last.
    old = Session.objects.using(db).filter(id=session_id).first()
    if old is not None:
        indexed = {name: getattr(old, name) for name in INDEXED}
        if entry is not None and entry.report:  # it is made of the index
            indexed["prompt_report_id"] = None
        elif report := PromptReport.objects.using(db).filter(id=old.prompt_report_id).first():
            PromptReport.objects.using(beside).create(id=report.id, report_json=report.report_json)
        moments = {"created_at": old.created_at, "last_activity_at": old.last_activity_at}  # they only move outwards
        Session.objects.using(beside).create(id=session_id, source_state=old.source_state, **indexed, **moments)
    if entry is not None:
        index_rows.store_index(beside, [entry])
    numbers = _read_turn_numbers(db, session_id)
    first = (
        TranscriptEvent.objects.using(db)
        .filter(session_id=session_id)
        .order_by("seq")
        .values_list("created_at", flat=True)
        .first()
    )
    with output_stash.open_outputs(beside, is_on=stashes, root=contents) as outputs:
        for index, part in enumerate(parts):
            if first is not None:  # records without a time keep theirs when the file is touched
                part.transcript.modified_ms = first
            part.transcript.turn_numbers, part.transcript.names = numbers, kept_records.names[index]
            with part.lines() as lines:
                interleaved = kept_records.interleave(lines, kept_records.names[index], is_first=index == 0)
                transcript_store.store_transcript(beside, part.transcript, interleaved, outputs=outputs)
        if contents is not None and outputs.problem:  # outputs that stayed in their records would be differences
            raise UnreadableOutput(outputs.problem)
    if Session.objects.using(beside).filter(id=session_id).exists():
        if not _is_opted_out(parts):  # nobody can tell whose words an old title is
            _keep_title(db, beside, session_id)
        _keep_leaves(db, beside, session_id, old, kept_records)
        session_holdings.recount_holding(beside, session_id)
        _keep_marks(db, beside, session_id)
    return kept_records


def _find_differences(db, session_id, files, *, has_previews):
    """The rows of a session that differ from those in the attached file, with lines of `files` that were rejected."""
    for model in tables.list_models(tables.OF_SESSIONS):
        if model is RejectedRecord:
            without = SHARED[model] | (set() if has_previews else {"raw_preview"})
            where, of_made, keys = DECIDED.format("there"), DECIDED.format("made"), ("file", "byte_offset")
            values = [session_id, json_columns.encode(files)]
            yield from compare_rows(db, model, where, values, of_made=of_made, keys=keys, without=without)
        elif model in SHARED:
            yield from compare_rows(db, model, NONE, without=SHARED[model])
        else:
            yield from compare_rows(db, model, f"{_own_key(model)} = %s", [session_id])


def _read_turn_numbers(db, session_id):
    """Record id -> number of its turn, so that no number is given to another turn."""
    stored = ConversationTurn.objects.using(db).filter(session_id=session_id)
    turns_of = stored.values_list("user_message_id", "turn_number", "id")
    # The turn that is called after its message comes last: it counts, if there is another one of this message.
    ordered = sorted(turns_of, key=lambda row: row[2] == f"{session_id}:{row[0]}")
    own = {record_id: abs(number) for record_id, number, _id in ordered}
    return dict(statements.read_rows(db, NUMBERS, [session_id])) | own


def _keep_leaves(db, beside, session_id, old, kept_records):
    """Keep the ends of branches that are in no source any more.

    An end of a source that was stored, but was no end, had a record after it in a source that is gone: see
    `source_order`.
    """
    new = Session.objects.using(beside).get(id=session_id)
    made, before = ([leaf for leaf in each.leaves or [each.leaf_record_id] if leaf] for each in (new, old or new))
    ends = {*made}
    if old and old.leaves:
        kept_ends = {leaf for leaf in before if leaf in kept_records.places}
        ends = kept_ends | {leaf for leaf in made if leaf in before or leaf not in kept_records.stored}
    records = TranscriptEvent.objects.using(beside).filter(session_id=session_id).order_by("-seq")
    last = records.exclude(event_type="session").values_list("event_id", flat=True).first()  # where no row told it
    leaves = source_order.order_leaves(beside, session_id, ends or {*made, *before} or {last}, {})
    is_one = len(leaves) < 2 and not (new.leaves or (old and old.leaves))
    if leaves and leaves != (new.leaves or (made if is_one else None)):
        source_order.set_leaves(beside, session_id, leaves, is_one=is_one)
    if not is_one:
        source_order.refresh_title_and_model(beside, session_id)


def _keep_title(db, beside, session_id):
    """Keep a title that an index gave, when no source gives one now."""
    old = Session.objects.using(db).filter(id=session_id).values_list("title", flat=True).first()
    new = Session.objects.using(beside).get(id=session_id)
    derived_title = turns.find_title(_read_title_texts(db, session_id))
    if old and old != derived_title and new.title == turns.find_title(_read_title_texts(beside, session_id)):
        Session.objects.using(beside).filter(id=session_id).update(title=old)


def _keep_marks(db, beside, session_id):
    """Keep the marks of repeated records until all sessions were imported and are compared again."""
    marks = statements.read_rows(db, MARKS, [session_id])
    if marks:
        statements.run_many(beside, MARK, [(source, session_id, record_id) for record_id, source in marks])
        sums.rebuild_session(beside, session_id)
    known = Session.objects.using(db).filter(id=session_id).values_list("repeats_mark", flat=True).first()
    Session.objects.using(beside).filter(id=session_id).update(repeats_mark=known or "")


def _read_title_texts(db, session_id):
    stored = ConversationTurn.objects.using(db).filter(session_id=session_id, is_active=True).order_by("first_seq")
    return stored.values_list("user_message_content", "user_metadata")[: turns.TITLE_TURNS]


def _table(model):
    return model._meta.db_table


class _Exchange:
    """Replaces the stored session by the one made beside it, when they differ."""

    def __init__(self, db, beside, session_id, parts, kept_count):
        self.db, self.beside, self.session_id = db, beside, session_id
        self.files = [part.transcript.file for part in parts]
        self.has_previews = not _is_opted_out(parts)
        self.result = ReimportResult(kept_count=kept_count)

    def run(self) -> ReimportResult:
        with upkeep.attach_database(self.db, self.beside):
            self._compare()
            key = [self.session_id]
            before, now = (
                {record_id: kind for record_id, kind, _seq in statements.read_rows(self.db, query, key)}
                for query in (IDS_AND_KINDS.format(where=where) for where in (MAIN, ATTACHED))
            )
            result = self.result
            result.held = Holding(Counter(now.values()), compute_checksum(now))
            pairs = ((before.get(record_id, kind), kind) for record_id, kind in now.items())
            result.kind_changes = Counter(pair for pair in pairs if pair[0] != pair[1])
            result.added = Counter(kind for record_id, kind in now.items() if record_id not in before)
            result.withheld = [
                record_id
                for record_id, kind in now.items()
                if kind == WITHHELD and before.get(record_id, WITHHELD) != WITHHELD
            ]
            if result.withheld:
                rows = statements.read_rows(self.db, HANDLES_OF_WITHHELD, key * 2)
                result.artifacts = sorted(handle for (handle,) in rows)
                texts = statements.read_rows(self.db, WORDS_OF_WITHHELD, key * 2)
                result.words = {text for both in texts for text in both if text}
            if self.result.is_changed:
                with transaction.atomic(using=self.db, durable=True):
                    self._exchange()
        return self.result

    def _compare(self):
        self.result.is_new = not Session.objects.using(self.db).filter(id=self.session_id).exists()
        differences = _find_differences(self.db, self.session_id, self.files, has_previews=self.has_previews)
        self.result.is_changed = any(True for _row in differences)

    def _exchange(self):
        key = [self.session_id]
        tool_days.remove_sums(self.db, self.session_id)
        statements.run(self.db, REMOVE_CONTEXTS, key * 3)
        statements.run(self.db, SET_ASIDE, key * 4)
        statements.run(self.db, REMOVE_RETURNED)
        exchanged = [model for model in tables.list_models(tables.OF_SESSIONS) if model not in SHARED]
        for model in reversed(exchanged):
            statements.run(self.db, f"DELETE FROM {MAIN}.{_table(model)} WHERE {_own_key(model)} = %s", key)  # noqa: S608
        self._copy_rows(PromptReport, dialect.INSERT_OR_REPLACE)
        for model in exchanged:
            self._copy_rows(model, "INSERT")
        tool_days.add_to_days(self.db, self.session_id)
        statements.run(self.db, REMOVE_WITHHELD, key * 2)
        self._copy_rows(Artifact, dialect.INSERT_OR_REPLACE)
        statements.run(self.db, REMOVE_REJECTED, [json_columns.encode(self.files)])
        statements.run(self.db, BRING_REJECTED)

    def _copy_rows(self, model, verb):
        columns = ", ".join([field.column for field in model._meta.concrete_fields])
        table = _table(model)
        statements.run(self.db, f"{verb} INTO {MAIN}.{table} ({columns}) SELECT {columns} FROM {ATTACHED}.{table}")  # noqa: S608


def _own_key(model):
    if model is ConversationTurn:  # without those that were set aside
        return "turn_number > 0 AND session_id"
    return "id" if model is Session else "session_id"


# In the order of the rows, which are wide.
HAS_ID = f"{dialect.unindexed('event_id')} IS NOT NULL"
NUMBERS = f"""
    SELECT event_id, turn_number FROM transcript_events WHERE session_id = %s AND turn_number > 0 AND {HAS_ID}
"""  # noqa: S608 - constants
MARKS = f"""
    SELECT event_id, repeat_of FROM transcript_events WHERE session_id = %s AND repeat_of IS NOT NULL AND {HAS_ID}
"""  # noqa: S608 - constants
MARK = f"""
    UPDATE transcript_events SET repeat_of = %s WHERE session_id = %s AND event_id = %s AND kind <> '{WITHHELD}'
"""  # noqa: S608 - constants
IDS_AND_KINDS = f"""
    SELECT event_id, kind, seq FROM {{where}}.transcript_events WHERE session_id = %s AND {HAS_ID}
"""  # noqa: S608 - constants
WITHHELD_NOW = f"""
    SELECT event_id FROM {ATTACHED}.transcript_events WHERE session_id = %s AND kind = '{WITHHELD}'
"""  # noqa: S608 - constants
HANDLES_OF_WITHHELD = f"""
    SELECT DISTINCT handle FROM {MAIN}.artifacts WHERE session_id = %s AND record_id IN ({WITHHELD_NOW})
"""  # noqa: S608
WORDS_OF_WITHHELD = f"""
    SELECT user_message_content, agent_message_content FROM {MAIN}.conversation_turns
    WHERE session_id = %s AND user_message_id IN ({WITHHELD_NOW})
"""  # noqa: S608
# The messages of turns that are withheld now, by text and moment: the same words of others stay.
REMOVE_CONTEXTS = f"""
    DELETE FROM {MAIN}.conversation_contexts
    WHERE turn_id IN (SELECT id FROM {MAIN}.conversation_turns WHERE session_id = %s) AND EXISTS (
        SELECT 1 FROM {MAIN}.conversation_turns gone
        WHERE gone.session_id = %s AND gone.user_message_id IN ({WITHHELD_NOW}) AND (
            (role = 'user' AND message = gone.user_message_content AND timestamp = gone.created_at)
            OR (role = 'agent' AND message = gone.agent_message_content
                AND timestamp = gone.created_at + coalesce(gone.latency_ms, 0))))
"""  # noqa: S608
# A turn whose user message is no record any more, and that kept messages, which are evidence, refer to.
SET_ASIDE = f"""
    UPDATE {MAIN}.conversation_turns SET turn_number = -abs(turn_number), is_active = 0,
        user_message_content = CASE WHEN user_message_id IN ({WITHHELD_NOW}) THEN '' ELSE user_message_content END,
        agent_message_content = CASE WHEN user_message_id IN ({WITHHELD_NOW}) THEN '' ELSE agent_message_content END,
        agent_metadata = CASE WHEN user_message_id IN ({WITHHELD_NOW}) THEN NULL ELSE agent_metadata END
    WHERE session_id = %s AND id NOT IN (SELECT id FROM {ATTACHED}.conversation_turns)
        AND id IN (SELECT turn_id FROM {MAIN}.conversation_contexts)
"""  # noqa: S608
# A turn that was set aside and is one again, or whose row is under another session.
REMOVE_RETURNED = f"""
    DELETE FROM {MAIN}.conversation_turns WHERE id IN (SELECT id FROM {ATTACHED}.conversation_turns)
"""  # noqa: S608
REMOVE_WITHHELD = f"DELETE FROM {MAIN}.artifacts WHERE session_id = %s AND record_id IN ({WITHHELD_NOW})"  # noqa: S608
IN_FILES = f"file IN (SELECT value FROM {dialect.json_array('files')})"  # noqa: S608 - constants
DECIDED = f"{{0}}.session_id = %s AND {{0}}.{IN_FILES} AND {{0}}.reason NOT IN {UNDECIDED}"
# Lines that can be read now are no longer rejected; others that are made again keep their time.
REMOVE_REJECTED = f"""
    DELETE FROM {MAIN}.rejected_records WHERE {IN_FILES} AND NOT EXISTS (
        SELECT 1 FROM {ATTACHED}.rejected_records made
        WHERE made.file = rejected_records.file AND made.byte_offset = rejected_records.byte_offset
        AND made.byte_length = rejected_records.byte_length AND made.reason = rejected_records.reason
        AND made.session_id = rejected_records.session_id AND made.detail = rejected_records.detail
        AND made.raw_preview = rejected_records.raw_preview)
"""  # noqa: S608
REJECTED = "file, byte_offset, byte_length, reason, detail, raw_preview, session_id, created_at"
BRING_REJECTED = f"""
    {dialect.INSERT_OR_LEAVE} INTO {MAIN}.rejected_records ({REJECTED})
    SELECT {REJECTED} FROM {ATTACHED}.rejected_records
"""  # noqa: S608
