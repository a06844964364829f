"""Everything that follows from the records of a session, worked out from those records and nothing else.

A record is what `transcript_events` and `transcript_event_identities` hold of it: what it says, the numbers beside it,
its order and whom it follows. Nothing is written: `rebuilding` does that, and `sum_checks` compares.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agents.holdings import compute_checksum
from openclaw_web.errors import Refused
from openclaw_web.sqlite.json_columns import decode

from ..collectors.records import Facts, read_facts
from ..models import Session, TranscriptEvent, TranscriptEventIdentity, TranscriptSnapshot
from ..transcripts import tool_days, turns
from ..transcripts.rows import TOTALS, Row, add_totals, sum_totals
from ..transcripts.tool_days import Buckets
from ..transcripts.trees import Node, Tree
from ..transcripts.trees import Turn as Branched
from ..transcripts.trimming import untrim

BATCH = 500
ROWS_AT_ONCE = 2_000
SAYING = ("user", "assistant", "compaction")  # kinds whose words stand in other tables too
UNPRICED = "unpriced_tokens"  # of records: the tokens of those without a cost
# The column of each total.
ADDED = tuple("is_failed" if name == "error_count" else name for name in TOTALS if name != UNPRICED)
UNKNOWN = tuple(None if name == "cost_usd" else 0 for name in TOTALS)
TOKENS = TOTALS.index("total_tokens")
PROMPT = tuple(TOTALS.index(name) for name in tool_days.PROMPT_COLUMNS)


class Record(NamedTuple):
    """The small columns of a record; `numbers` are those of TOTALS, which one that is synthetic or repeated has not."""

    seq: int
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
    """What follows from the records of a session; rows are dicts of their columns.

    `places` are turn number and branch of each record by `seq`, `stored` the same as the store has them.
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
    """What follows from the records of a session; None when there is no such session and no record of it."""
    records = {record.seq: record for record in _records(db, session_id)}
    session = Session.objects.using(db).filter(id=session_id).first()
    if session is None:
        if not records:
            return None
        session = Session(id=session_id, created_at=0, last_activity_at=0)
    tree = Tree(_nodes(db, session_id, records))
    leaf_id = _end_of_branch(db, session, tree, records)
    active = tree.active(leaf_id)
    found = DerivedRows(session, stored={record.seq: record.place for record in records.values()})
    branched = tree.turns(active)
    numbers = {node.seq: number for number, turn in enumerate(branched, start=1) for node in turn.nodes}
    found.places = dict.fromkeys(records, (None, False))
    found.places |= {node.seq: (numbers.get(node.seq), node.record_id in active) for node in tree.nodes}
    reader = _Reader(db, session_id, records, found.places, {node.seq: node.record_id for node in tree.nodes})
    found.turns = list(_turns(session, branched, reader))
    compactions = [node.seq for node in tree.nodes if records[node.seq].kind == "compaction"]
    found.snapshots = [turns.build_snapshot_row(session, tree, row) for row in reader.rows(compactions)]
    found.days = _days(records.values(), found.places)
    found.columns = _columns(session, records, found.turns)
    found.columns |= {"leaf_record_id": leaf_id, "id_checksum": compute_checksum(tree.by_id)}
    found.tools = tool_days.compute_sums(db, session_id)
    return found


def _records(db, session_id) -> Iterator[Record]:
    about = ("seq", "kind", "created_at", "is_failed", "is_synthetic", "model")
    columns = (*about, "turn_number", "is_active", "repeat_of", *ADDED)
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id).order_by("seq")
    for seq, kind, at, failed, synthetic, model, *more in events.values_list(*columns).iterator():
        number, is_active, repeat_of, *numbers = more
        counted = UNKNOWN if synthetic or repeat_of else _numbers(numbers)
        yield Record(seq, kind, at, failed, synthetic, model, (number, is_active), repeat_of, counted)


def _numbers(values):
    """TOTALS of a record; one without usage has no cost, and no tokens without one."""
    *counts, cost = values
    tokens = counts[TOKENS]
    return (*(count or 0 for count in counts), cost, 0 if cost is not None else tokens or 0)


def _nodes(db, session_id, records):
    """Places in the tree; one whose record is gone is none."""
    known = TranscriptEventIdentity.objects.using(db).filter(session_id=session_id)
    for record_id, seq, parent_id in known.values_list("event_id", "seq", "parent_id").iterator():
        if seq in records:
            yield Node(seq, record_id, parent_id, records[seq].kind == "user")


def _end_of_branch(db, session, tree, records):
    """Where the branch ends is the source's word; when that is lost, the last record or what a `leaf` names."""
    if session.leaf_record_id in tree.by_id:
        return session.leaf_record_id
    for node in reversed(tree.nodes):
        kind = records[node.seq].kind
        found = _target(db, session.id, node.seq) if kind == "leaf" else node.record_id
        if found and kind != "session":
            return found
    return None


def _target(db, session_id, seq):
    event = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq=seq)
    found = decode(event.values_list("event_json", flat=True).get()).get("targetId")
    return found if isinstance(found, str) else None


class _Reader:
    """Records as they were when they came in; what is not in SAYING has its kind and place alone."""

    def __init__(self, db, session_id, records, places, ids):
        self._events = TranscriptEvent.objects.using(db).filter(session_id=session_id)
        self._records, self._places, self._ids = records, places, ids

    def rows(self, seqs: list[int]) -> list[Row]:
        """The rows of these records, in their order."""
        said = {}
        for start in range(0, len(seqs), BATCH):
            events = self._events.filter(seq__in=seqs[start : start + BATCH], kind__in=SAYING)
            said |= {event.seq: event for event in events.only("session_id", "seq", "event_json", "full_zstd")}
        return [self._row(self._records[seq], said.get(seq)) for seq in seqs]

    def _row(self, record, event):
        found = _facts(event) if event else Facts("", record.kind)
        found.kind, found.model = record.kind, record.model
        found.is_failed, found.is_synthetic = record.is_failed, record.is_synthetic
        text = event.event_json if event else ""
        row = Row(self._ids[record.seq], None, record.created_at, found, text, None, None, None)
        row.seq, (row.turn_number, row.is_active) = record.seq, self._places[record.seq]
        row.repeat_of = record.repeat_of
        return row

    def numbers(self, seqs: list[int]) -> list[float | None]:
        """What these records add up to, as TOTALS."""
        return [sum_totals(column) for column in zip(*(self._records[seq].numbers for seq in seqs), strict=True)]

    def biggest_prompt(self, seqs: list[int]) -> int | None:
        """The biggest prompt of a model call among these records."""
        calls = (self._records[seq] for seq in seqs if self._records[seq].kind == "assistant")
        return max((sum(call.numbers[place] for place in PROMPT) for call in calls), default=0) or None


def _facts(event):
    try:
        return read_facts(untrim(event.event_json, event.full_zstd))
    except (ValueError, Refused):  # damaged: it keeps its place, and the numbers beside it count
        return Facts("", "unknown")


def _turns(session, branched: list[Branched], reader) -> Iterator[dict[str, Any]]:
    for some in _groups(branched):
        rows = {row.seq: row for row in reader.rows([node.seq for turn in some for node in turn.nodes])}
        for turn in some:
            seqs = [node.seq for node in turn.nodes]
            made = turns.build_turn_row(session, [rows[seq] for seq in seqs])
            made |= dict(zip(TOTALS, reader.numbers(seqs), strict=True))
            yield made | {"prompt_tokens": reader.biggest_prompt(seqs)}


def _groups(branched):
    """Turns that are read together: of a long session not all words are held at once."""
    some, size = [], 0
    for turn in branched:
        some.append(turn)
        size += len(turn.nodes)
        if size >= ROWS_AT_ONCE:
            yield some
            some, size = [], 0
    yield some


def _days(records, places):
    found: dict[str, list[float]] = {}
    for record in records:
        is_turn = record.kind == "user" and places[record.seq][1] and not record.repeat_of
        numbers = (*record.numbers, is_turn, 1)
        day = turns.utc_day(record.created_at)
        found[day] = list(map(add_totals, found[day], numbers)) if day in found else [*numbers]
    names = (*TOTALS, "turn_count", "record_count")
    return [{"date": day, **dict(zip(names, found[day], strict=True))} for day in sorted(found)]


def _columns(session, records, made_turns):
    """The columns of `sessions` that records decide."""
    kinds = [record.kind for record in records.values()]
    numbers = [record.numbers for record in records.values()] or [UNKNOWN]
    moments = [record.created_at for record in records.values()]
    current = [turn for turn in made_turns if turn["is_active"]]
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
        "model": _model(records.values()) or session.model,
        "title": session.title or turns.find_title(words),
    }


def _model(records):
    """The last model that answered."""
    answers = (record.model for record in records if record.kind == "assistant" and not record.is_synthetic)
    return next((model for model in reversed(list(answers)) if model), None)
