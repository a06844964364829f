"""What outputs of tools add up to, kept true while transcripts grow: `session_tools`, and their sums in `tool_days`.

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
ENDS = (Kind.COMPACTION, Kind.RESET)  # of what is in the context
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
# A day from which everything was taken back is as if it had never been.
DELETE_NOTHING = f"DELETE FROM tool_days WHERE {' AND '.join(f'{name} = %s' for name in TOTAL_PLACE)} AND " + (  # noqa: S608
    " AND ".join(f"{name} = 0" for name in SUM_COLUMNS)
)
STORED = ("kind", "created_at", "is_failed", "is_synthetic", "repeat_of", "trim_json", "event_json")


@dataclass(slots=True)
class Step:
    """What counts of one record. `chars` are those of a result's text, `notes` its parts that are artifacts."""

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
    """One row on its way. `open_chars` are in the context now; `paid` of them times calls were before they came."""

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
        """Count what was carried through `calls` model calls."""
        self.carried_chars += self.open_chars * calls - self.paid
        self.paid = self.open_chars * calls


Buckets = dict[tuple[str, str], Bucket]


def add(db: str, session: Session, rows: Iterable[Row]) -> None:
    """Count new records, which are stored, in."""
    stored = _sums_of(db, session.id) if session.record_count else []
    steps = map(_of_row, (row for row in rows if row.facts.kind in KINDS))
    _save(db, session.id, _channel(session, stored), counted(steps, _open(stored)))


def compute_sums(db: str, session_id: str) -> Buckets:
    """The sums of a session by day and tool, from what is stored of its records."""
    return counted(_stored(db, session_id), {})


def replace_sums(db: str, session_id: str, channel: str, buckets: Buckets) -> None:
    """Write the sums of a session instead of those it has, counted to `channel`; in the caller's transaction."""
    remove_sums(db, session_id)
    _save(db, session_id, channel, buckets)


def remove_sums(db: str, session_id: str) -> None:
    """Remove the sums of a session, from those of its days too; in the caller's transaction."""
    rows = SessionTool.objects.using(db).filter(session_id=session_id)
    _add_to_days(db, rows, -1)
    rows.delete()


def move_sums(db: str, session_id: str, channel: str) -> None:
    """Count a session to another channel: the index told of it later; in the caller's transaction."""
    rows = SessionTool.objects.using(db).filter(session_id=session_id)
    _add_to_days(db, rows, -1)
    rows.update(channel_id=channel)
    add_to_days(db, session_id)


def add_to_days(db: str, session_id: str) -> None:
    """Count rows of `session_tools` that were put back into those of their days; in the caller's transaction."""
    _add_to_days(db, SessionTool.objects.using(db).filter(session_id=session_id), 1)


def counted(steps: Iterable[Step], known: Buckets) -> Buckets:
    """The sums of `steps` by day and tool, added to `known`."""
    buckets, calls = known, 0
    for step in steps:
        if step.kind == Kind.TOOL_RESULT:
            _count_result(_bucket(buckets, step, step.tool), step, calls)
        else:
            calls += step.has_read
            if step.prompt_tokens:
                _bucket(buckets, step, NO_TOOL).prompt_tokens += step.prompt_tokens
            for name in step.calls:
                _bucket(buckets, step, name).call_count += 1
        if step.kind in ENDS:
            for bucket in buckets.values():
                bucket.settle(calls)
                bucket.open_chars = bucket.paid = 0
    for bucket in buckets.values():
        bucket.settle(calls)
    return buckets


def kept(note: trimming.StashedOutput) -> int:
    """How many characters would stay of an output that is an artifact: preview, summary and handle."""
    return min(note.chars, previews.CHARS) + len(note.summary) + len(note.handle)


def _bucket(buckets, step, tool):
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
        saved = max(note.chars - kept(note), 0)
        if not step.is_repeated:
            bucket.stashed_count += 1
            bucket.stashed_chars += note.chars
            bucket.kept_chars += note.chars - saved
        bucket.open_chars += saved
        bucket.paid += saved * calls


def _of_row(row: Row) -> Step:
    found = row.facts
    step = Step(found.kind, row.created_at, is_failed=found.is_failed)
    if found.kind == Kind.TOOL_RESULT:
        step.tool, step.chars = found.tool_name or NO_TOOL, len(found.text)
        step.notes = trimming.parse_stashed(row.trim_json) if row.trim_json else ()
    elif found.kind in CALLS and not found.is_synthetic:
        _of_call(step, found)
    return step


def _of_call(step, found):
    if found.calls:
        step.calls = [call.name for call in found.calls]
    step.prompt_tokens = found.usage.prompt if found.usage else 0
    # A call that failed before it read anything says so. What other records tell of read none of the outputs.
    step.has_read = found.kind == Kind.ASSISTANT and (found.usage is None or step.prompt_tokens > 0)


def _stored(db, session_id) -> Iterator[Step]:
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id, kind__in=KINDS).order_by("seq")
    rows = events.values_list(*STORED).iterator()
    for kind, created_at, is_failed, is_synthetic, repeat_of, trim_json, event_json in rows:
        record = decode(event_json)
        if not record:  # a row that a disk or a person damaged: the rest is counted
            continue
        found, step = read_facts(record), Step(kind, created_at, is_failed=is_failed, is_repeated=bool(repeat_of))
        if kind == Kind.TOOL_RESULT:
            step.tool, step.notes = found.tool_name or NO_TOOL, trimming.parse_stashed(trim_json)
            step.chars = len(found.text) + _left_out(trim_json, step.notes, record)
        elif kind in CALLS and not (is_synthetic or repeat_of):
            _of_call(step, found)
        yield step


def _left_out(trim_json, notes, record):
    """The characters of a result's texts that are not in its row."""
    cut = sum(count for path, count in trimming.parse_cuts(trim_json) if _is_text(path))
    return cut + sum(note.chars - len(trimming.get_text(record, note.path)) for note in notes)


def _is_text(path):
    return path == "message.content" or (path.startswith("message.content.") and path.endswith(".text"))


def _sums_of(db, session_id):
    """Day, tool, channel and open characters of the rows of a session."""
    rows = SessionTool.objects.using(db).filter(session_id=session_id)
    return list(rows.values_list("date", "tool", "channel_id", "open_chars"))


def _channel(session, stored):
    """The channel that sums of a session are counted to: the index may have told of another one since."""
    return stored[-1][2] if stored else session.channel_id


def _open(stored) -> Buckets:
    """What is still in the context of a session."""
    return {(day, tool): Bucket(open_chars=chars) for day, tool, _channel, chars in stored if chars}


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
    statements.run_many(db, ADD, [(session_id, *key, channel, left, *added) for key, added, left in sums])
    statements.run_many(db, ADD_TOTAL, [(*key, channel, *added) for key, added, _left in sums if any(added)])
