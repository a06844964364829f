"""Derives everything that follows from the records of a session, from those records alone.

A record is its row in `transcript_events`: its content, the numbers beside it, its order and its parent. No row is
written here: `rebuild.sums` does that.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Q

from agents.holdings import compute_checksum
from openclaw_web.errors import Refused
from openclaw_web.sqlite.json_columns import decode

from ..collectors.answers import SENDERS
from ..collectors.records import Facts, read_facts
from ..injected_prompts import find_heading
from ..models import Session, TranscriptEvent, TranscriptSnapshot
from ..transcripts import tool_days, turns
from ..transcripts.origins import find_conversation
from ..transcripts.rows import TOTALS, Row, add_totals, sum_totals
from ..transcripts.tool_days import Buckets
from ..transcripts.trees import Node, Tree
from ..transcripts.trees import Turn as Branched
from ..transcripts.trimming import untrim

BATCH = 500
ROWS_AT_ONCE = 2_000
# Records whose words stand in other tables too, and results of sends, which say whether these were delivered.
SENT = Q(kind="tool_result") & (Q(tool_name__in=SENDERS) | Q(tool_name__isnull=True))
SAYING = Q(kind__in=("user", "assistant", "compaction")) | SENT
UNPRICED = "unpriced_tokens"  # of records: the tokens of those without a cost
# The column of each total.
ADDED = tuple("is_failed" if name == "error_count" else name for name in TOTALS if name != UNPRICED)
UNKNOWN = tuple(None if name == "cost_usd" else 0 for name in TOTALS)
TOKENS = TOTALS.index("total_tokens")
PROMPT = tuple(TOTALS.index(name) for name in tool_days.PROMPT_COLUMNS)


class Record(NamedTuple):
    """The small columns of a record.

    `numbers` are those of TOTALS; a synthetic or repeated record has none.
    """

    seq: int
    record_id: str | None
    parent_id: str | None
    kind: str
    created_at: int
    is_failed: bool
    is_synthetic: bool
    model: str | None
    place: tuple[int | None, bool]  # turn number, on the active branch
    repeat_of: str | None
    numbers: tuple[float | None, ...]


@dataclass(slots=True)
class DerivedRows:
    """The rows that follow from the records of a session, as dicts of their columns.

    `places` are turn number and branch of each record by `seq`, `stored` the same as in the store.
    """

    session: Session
    columns: dict[str, Any] = field(default_factory=dict)
    places: dict[int, tuple[int | None, bool]] = field(default_factory=dict)
    stored: dict[int, tuple[int | None, bool]] = field(default_factory=dict)
    turns: list[dict[str, Any]] = field(default_factory=list)
    snapshots: list[TranscriptSnapshot] = field(default_factory=list)
    days: list[dict[str, Any]] = field(default_factory=list)
    tools: Buckets = field(default_factory=dict)


def derive_rows(db: str, session_id: str) -> DerivedRows | None:
    """The derived rows of a session; None when it has no row."""
    session = Session.objects.using(db).filter(id=session_id).first()
    if session is None:
        return None
    records = {record.seq: record for record in _records(db, session_id)}
    # A record that lost its id has no place in the tree.
    known = (record for record in records.values() if record.record_id is not None)
    tree = Tree([Node(each.seq, each.record_id, each.parent_id, each.kind == "user") for each in known])
    leaf_id = _find_leaf(db, session, tree, records)
    active = tree.active(leaf_id, session.leaves)
    derived = DerivedRows(session, stored={record.seq: record.place for record in records.values()})
    branched = tree.turns(active)
    numbers = {node.seq: number for number, turn in enumerate(branched, start=1) for node in turn.nodes}
    derived.places = dict.fromkeys(records, (None, False))
    derived.places |= {node.seq: (numbers.get(node.seq), node.record_id in active) for node in tree.nodes}
    reader = _Reader(db, session_id, records, derived.places, {node.seq: node.record_id for node in tree.nodes})
    derived.turns = list(_build_turns(session, branched, reader))
    compactions = [node.seq for node in tree.nodes if records[node.seq].kind == "compaction"]
    derived.snapshots = [turns.build_snapshot_row(session, tree, row) for row in reader.rows(compactions)]
    derived.days = _sum_days(records.values(), derived.places)
    derived.columns = _build_session_columns(session, records, derived.turns)
    derived.columns |= {"leaf_record_id": leaf_id, "id_checksum": compute_checksum(tree.by_id)}
    derived.tools = tool_days.compute_sums(db, session_id)
    return derived


def _records(db, session_id) -> Iterator[Record]:
    columns_of_record = ("seq", "event_id", "parent_id", "kind", "created_at", "is_failed", "is_synthetic", "model")
    columns = (*columns_of_record, "turn_number", "is_active", "repeat_of", *ADDED)
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id).order_by("seq")
    for values in events.values_list(*columns).iterator():
        *_others, is_synthetic, _model = own = values[: len(columns_of_record)]
        number, is_active, repeat_of, *numbers = values[len(columns_of_record) :]
        counted = UNKNOWN if is_synthetic or repeat_of else _compute_totals(numbers)
        yield Record(*own, (number, is_active), repeat_of, counted)


def _compute_totals(values):
    """TOTALS of a record.

    A record without usage has no cost, and no tokens without a cost.
    """
    *counts, cost = values
    tokens = counts[TOKENS]
    return (*(count or 0 for count in counts), cost, 0 if cost is not None else tokens or 0)


def _find_leaf(db, session, tree, records):
    """The id of the record that the branch ends with.

    The source says it; when that is lost, it is the last record or the target of a `leaf`.
    """
    if session.leaf_record_id in tree.by_id:
        return session.leaf_record_id
    for node in reversed(tree.nodes):
        kind = records[node.seq].kind
        leaf_id = _read_target(db, session.id, node.seq) if kind == "leaf" else node.record_id
        if leaf_id and kind != "session":
            return leaf_id
    return None


def _read_target(db, session_id, seq):
    event = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq=seq)
    target_id = decode(event.values_list("event_json", flat=True).get()).get("targetId")
    return target_id if isinstance(target_id, str) else None


class _Reader:
    """Reads records as they were when they came in.

    Those outside of SAYING have only their kind and place.
    """

    def __init__(self, db, session_id, records, places, ids):
        self._events = TranscriptEvent.objects.using(db).filter(session_id=session_id)
        self._records, self._places, self._ids = records, places, ids

    def rows(self, seqs: list[int]) -> list[Row]:
        """The rows of these records, in their order."""
        events_by_seq = {}
        for start in range(0, len(seqs), BATCH):
            events = self._events.filter(SAYING, seq__in=seqs[start : start + BATCH])
            events_by_seq |= {event.seq: event for event in events.only("session_id", "seq", "event_json", "full_zstd")}
        return [self._build_row(self._records[seq], events_by_seq.get(seq)) for seq in seqs]

    def _build_row(self, record, event):
        record_facts = _read_facts(event) if event else Facts("", record.kind)
        record_facts.kind, record_facts.model = record.kind, record.model
        record_facts.is_failed, record_facts.is_synthetic = record.is_failed, record.is_synthetic
        text = event.event_json if event else ""
        row = Row(self._ids[record.seq], None, record.created_at, record_facts, text, None, None, None)
        row.seq, (row.turn_number, row.is_active) = record.seq, self._places[record.seq]
        row.repeat_of = record.repeat_of
        return row

    def numbers(self, seqs: list[int]) -> list[float | None]:
        """The sums of these records, as TOTALS."""
        return [sum_totals(column) for column in zip(*(self._records[seq].numbers for seq in seqs), strict=True)]

    def biggest_prompt(self, seqs: list[int]) -> int | None:
        """The biggest prompt of a model call among these records."""
        calls = (self._records[seq] for seq in seqs if self._records[seq].kind == "assistant")
        return max((sum(call.numbers[place] for place in PROMPT) for call in calls), default=0) or None


def _read_facts(event):
    try:
        return read_facts(untrim(event.event_json, event.full_zstd))
    except (ValueError, Refused):  # damaged: it keeps its place, and the numbers beside it count
        return Facts("", "unknown")


def _build_turns(session, branched: list[Branched], reader) -> Iterator[dict[str, Any]]:
    conversation = find_conversation(session)
    for group in _group_turns(branched):
        rows = {row.seq: row for row in reader.rows([node.seq for turn in group for node in turn.nodes])}
        for turn in group:
            seqs = [node.seq for node in turn.nodes]
            turn_row = turns.build_turn_row(session, [rows[seq] for seq in seqs], conversation, turn.hole)
            turn_row |= dict(zip(TOTALS, reader.numbers(seqs), strict=True))
            yield turn_row | {"prompt_tokens": reader.biggest_prompt(seqs)}


def _group_turns(branched):
    """Turns in groups that are read together, so that memory use stays small."""
    group, size = [], 0
    for turn in branched:
        group.append(turn)
        size += len(turn.nodes)
        if size >= ROWS_AT_ONCE:
            yield group
            group, size = [], 0
    yield group


def _sum_days(records, places):
    sums_by_day: dict[str, list[float]] = {}
    for record in records:
        is_turn = record.kind == "user" and places[record.seq][1] and not record.repeat_of
        numbers = (*record.numbers, is_turn, 1)
        day = turns.utc_day(record.created_at)
        sums_by_day[day] = list(map(add_totals, sums_by_day[day], numbers)) if day in sums_by_day else [*numbers]
    names = (*TOTALS, "turn_count", "record_count")
    return [{"date": day, **dict(zip(names, sums_by_day[day], strict=True))} for day in sorted(sums_by_day)]


def _build_session_columns(session, records, turn_rows):
    """The columns of `sessions` that follow from records."""
    kinds = [record.kind for record in records.values()]
    numbers = [record.numbers for record in records.values()] or [UNKNOWN]
    moments = [record.created_at for record in records.values()]
    current = [turn for turn in turn_rows if turn["is_active"]]
    repeated = {record.seq for record in records.values() if record.repeat_of}
    words = [(turn["user_message_content"], turn["user_metadata"]) for turn in current[: turns.TITLE_TURNS]]
    return {
        **dict(zip(TOTALS, map(sum_totals, zip(*numbers, strict=True)), strict=True)),
        "record_count": len(kinds),
        "kind_counts": Session.kinds.encode(Counter(kinds)),
        "turn_count": sum(turn["first_seq"] not in repeated for turn in current),
        "compaction_count": kinds.count("compaction"),
        "withheld_count": kinds.count("withheld"),
        "created_at": min(moments, default=session.created_at),
        "last_activity_at": max(session.last_activity_at, *moments) if moments else session.last_activity_at,
        "model": _find_last_model(records.values()) or session.model,
        "title": find_heading(session.title) or turns.find_title(words),
    }


def _find_last_model(records):
    """The last model that answered."""
    answers = (record.model for record in records if record.kind == "assistant" and not record.is_synthetic)
    return next((model for model in reversed(list(answers)) if model), None)
