"""Sums of tools' outputs (`session_tools`, `tool_days`), updated while transcripts grow.

A text that is an artifact would leave preview, summary and handle in the prompt; the rest of it "could be saved". It
would be saved once where it came in, and again of every model call that read it after that, up to the next compaction.
Records are taken in the order they arrived, whatever branch they are on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from artifacts.excerpts import previews
from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import decode
from openclaw_web.sqlite.rows import insert_sql

from ..collectors.records import read_facts
from ..models import Session, SessionTool, TranscriptEvent
from . import trimming
from .rows import Row
from .turns import utc_day

Kind = TranscriptEvent.Kind
CALLS = (Kind.ASSISTANT.value, Kind.COMPACTION.value, Kind.BRANCH_SUMMARY.value, Kind.USAGE.value)
KINDS = frozenset({*CALLS, Kind.TOOL_RESULT.value, Kind.RESET.value})
ENDS = (Kind.COMPACTION, Kind.RESET)  # after these the context is empty
COUNT_COLUMNS = (
    *("call_count", "result_count", "failed_count", "chars"),
    *("stashed_count", "stashed_chars", "kept_chars", "carried_chars"),
)
SUM_COLUMNS = (*COUNT_COLUMNS, "prompt_tokens")
PROMPT_COLUMNS = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
NO_TOOL = ""
PLACE, TOTAL_PLACE = ("session_id", "date", "tool"), ("date", "tool", "channel_id")


def _upsert(table, place, others, last=""):
    columns = (*place, *others, *SUM_COLUMNS)
    added = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in SUM_COLUMNS)
    return f"{insert_sql(table, columns)} ON CONFLICT ({', '.join(place)}) DO UPDATE SET {added}{last}"


ADD = _upsert("session_tools", PLACE, ("channel_id", "open_chars"), ", open_chars = excluded.open_chars")
ADD_TOTAL = _upsert("tool_days", TOTAL_PLACE, ())
# A day from which all sums were removed needs no row.
DELETE_NOTHING = f"DELETE FROM tool_days WHERE {' AND '.join(f'{name} = %s' for name in TOTAL_PLACE)} AND " + (  # noqa: S608
    " AND ".join(f"{name} = 0" for name in SUM_COLUMNS)
)
STORED = ("kind", "created_at", "is_failed", "is_synthetic", "repeat_of", "trim_json", "event_json")


@dataclass(slots=True)
class Step:
    """The parts of one record that count.

    `chars` are those of a result's text, `notes` its parts that are artifacts.
    """

    kind: str
    created_at: int
    tool: str = NO_TOOL
    calls: Sequence[str] = ()
    chars: int = 0
    notes: Sequence[trimming.StashedOutput] = ()
    is_failed: bool = False
    has_read: bool = False
    prompt_tokens: int = 0
    is_repeated: bool = False  # it is in the context, and counts where it was said first


@dataclass(slots=True)
class Bucket:
    """One row of sums before it is stored.

    `open_chars` are in the context now; `paid` is the sum of these characters times the model calls before they came.
    """

    call_count: int = 0
    result_count: int = 0
    failed_count: int = 0
    chars: int = 0
    stashed_count: int = 0
    stashed_chars: int = 0
    kept_chars: int = 0
    carried_chars: int = 0
    prompt_tokens: int = 0
    open_chars: int = 0
    paid: int = 0

    def settle(self, calls: int) -> None:
        """Count the characters that were carried through `calls` model calls."""
        self.carried_chars += self.open_chars * calls - self.paid
        self.paid = self.open_chars * calls


Buckets = dict[tuple[str, str], Bucket]


def add(db: str, session: Session, rows: Iterable[Row]) -> None:
    """Add new records, which are stored, to the sums."""
    stored = _read_sums(db, session.id) if session.record_count else []
    steps = map(_build_step, (row for row in rows if row.facts.kind in KINDS))
    # The channel that sums of a session are counted to.
    _save(db, session.id, stored[-1][2] if stored else session.channel_id, counted(steps, _build_open_buckets(stored)))


def compute_sums(db: str, session_id: str) -> Buckets:
    """The sums of a session by day and tool, from its stored records."""
    return counted(_read_steps(db, session_id), {})


def replace_sums(db: str, session_id: str, channel: str, buckets: Buckets) -> None:
    """Replace the sums of a session, counted to `channel`, in the caller's transaction."""
    remove_sums(db, session_id)
    _save(db, session_id, channel, buckets)


def remove_sums(db: str, session_id: str) -> None:
    """Remove the sums of a session, also from its days, in the caller's transaction."""
    rows = SessionTool.objects.using(db).filter(session_id=session_id)
    _add_to_days(db, rows, -1)
    rows.delete()


def move_sums(db: str, session_id: str, channel: str) -> None:
    """Count a session to another channel, in the caller's transaction.

    The index may name its channel later than its records come.
    """
    rows = SessionTool.objects.using(db).filter(session_id=session_id)
    _add_to_days(db, rows, -1)
    rows.update(channel_id=channel)
    add_to_days(db, session_id)


def add_to_days(db: str, session_id: str) -> None:
    """Add restored rows of `session_tools` to their days, in the caller's transaction."""
    _add_to_days(db, SessionTool.objects.using(db).filter(session_id=session_id), 1)


def counted(steps: Iterable[Step], known: Buckets) -> Buckets:
    """The sums of `steps` by day and tool, added to `known`."""
    buckets, calls = known, 0
    for step in steps:
        if step.kind == Kind.TOOL_RESULT:
            _count_result(_get_bucket(buckets, step, step.tool), step, calls)
        else:
            calls += step.has_read
            if step.prompt_tokens:
                _get_bucket(buckets, step, NO_TOOL).prompt_tokens += step.prompt_tokens
            for name in step.calls:
                _get_bucket(buckets, step, name).call_count += 1
        if step.kind in ENDS:
            for bucket in buckets.values():
                bucket.settle(calls)
                bucket.open_chars = bucket.paid = 0
    for bucket in buckets.values():
        bucket.settle(calls)
    return buckets


def count_kept_characters(note: trimming.StashedOutput) -> int:
    """Characters of an output in the prompt once it is an artifact: preview, summary, handle."""
    return min(note.chars, previews.CHARS) + len(note.summary) + len(note.handle)


def _get_bucket(buckets, step, tool):
    key = (utc_day(step.created_at), tool)
    if key not in buckets:
        buckets[key] = Bucket()
    return buckets[key]


def _count_result(bucket, step, calls):
    if not step.is_repeated:
        bucket.result_count += 1
        bucket.failed_count += step.is_failed
        bucket.chars += step.chars
    for note in step.notes:
        saved = max(note.chars - count_kept_characters(note), 0)
        if not step.is_repeated:
            bucket.stashed_count += 1
            bucket.stashed_chars += note.chars
            bucket.kept_chars += note.chars - saved
        bucket.open_chars += saved
        bucket.paid += saved * calls


def _build_step(row: Row) -> Step:
    record_facts = row.facts
    step = Step(record_facts.kind, row.created_at, is_failed=record_facts.is_failed)
    if record_facts.kind == Kind.TOOL_RESULT:
        step.tool, step.chars = record_facts.tool_name or NO_TOOL, len(record_facts.text)
        step.notes = trimming.parse_stashed(row.trim_json) if row.trim_json else ()
    elif record_facts.kind in CALLS and not record_facts.is_synthetic:
        _fill_call(step, record_facts)
    return step


def _fill_call(step, record_facts):
    if record_facts.calls:
        step.calls = [call.name for call in record_facts.calls]
    step.prompt_tokens = record_facts.usage.prompt if record_facts.usage else 0
    # A call that failed before it read its prompt has usage without tokens. Other records' calls read no outputs.
    step.has_read = record_facts.kind == Kind.ASSISTANT and (record_facts.usage is None or step.prompt_tokens > 0)


def _read_steps(db, session_id) -> Iterator[Step]:
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id, kind__in=KINDS).order_by("seq")
    rows = events.values_list(*STORED).iterator()
    for kind, created_at, is_failed, is_synthetic, repeat_of, trim_json, event_json in rows:
        record = decode(event_json)
        if not record:  # a row that a disk or a person damaged: the rest is counted
            continue
        record_facts, step = (
            read_facts(record),
            Step(kind, created_at, is_failed=is_failed, is_repeated=bool(repeat_of)),
        )
        if kind == Kind.TOOL_RESULT:
            step.tool, step.notes = record_facts.tool_name or NO_TOOL, trimming.parse_stashed(trim_json)
            step.chars = len(record_facts.text) + _count_left_out(trim_json, step.notes, record)
        elif kind in CALLS and not (is_synthetic or repeat_of):
            _fill_call(step, record_facts)
        yield step


def _count_left_out(trim_json, notes, record):
    """The characters of a result's texts that are not in its row."""
    cut = sum(count for path, count in trimming.parse_cuts(trim_json) if _is_text(path))
    return cut + sum(note.chars - len(trimming.get_text(record, note.path)) for note in notes)


def _is_text(path):
    return path == "message.content" or (path.startswith("message.content.") and path.endswith(".text"))


def _read_sums(db, session_id):
    """Day, tool, channel and open characters of a session's stored sums."""
    rows = SessionTool.objects.using(db).filter(session_id=session_id)
    return list(rows.values_list("date", "tool", "channel_id", "open_chars"))


def _build_open_buckets(stored) -> Buckets:
    """The characters that are still in the context of a session, by day and tool."""
    return {(day, tool): Bucket(open_chars=chars) for day, tool, _channel_id, chars in stored if chars}


def _add_to_days(db, rows, factor):
    sums = [
        (*row[:3], *(number * factor for number in row[3:])) for row in rows.values_list(*TOTAL_PLACE, *SUM_COLUMNS)
    ]
    statements.run_many(db, ADD_TOTAL, sums)
    statements.run_many(db, DELETE_NOTHING, [row[:3] for row in sums])


def _save(db, session_id, channel, buckets):
    sums = [
        (key, [getattr(bucket, name) for name in SUM_COLUMNS], bucket.open_chars) for key, bucket in buckets.items()
    ]
    statements.run_many(db, ADD, [(session_id, *key, channel, open_chars, *added) for key, added, open_chars in sums])
    statements.run_many(db, ADD_TOTAL, [(*key, channel, *added) for key, added, _open_chars in sums if any(added)])
