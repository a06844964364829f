"""Builds the rows of the ledger's tables from records.

This is the only place that knows the order of their columns.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ..collectors.jsonl import Line
from ..collectors.records import Facts, read_facts
from ..errors.messages import find_group
from .trimming import Keep, trim

TOTALS = (
    "tool_call_count",
    "error_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "total_tokens",
    "cost_usd",
    "unpriced_tokens",
)
EVENT_COLUMNS = (
    "session_id",
    "seq",
    "created_at",
    "event_id",
    "event_type",
    "parent_id",
    "message_idempotency_key",
    "kind",
    "turn_number",
    "is_active",
    "is_failed",
    "is_synthetic",
    "model",
    "tool_name",
    "tool_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "total_tokens",
    "cost_usd",
    "error_group",
    "trim_json",
    "event_json",
    "full_zstd",
)
TURN_COLUMNS = (
    "id",
    "session_id",
    "turn_number",
    "user_message_id",
    "user_message_content",
    "user_from",
    "user_metadata",
    "agent_message_id",
    "agent_message_content",
    "agent_metadata",
    "created_at",
    "is_active",
    "first_seq",
    "last_seq",
    "record_count",
    "latency_ms",
    "model",
    "asked_model",
    "answer_state",
    "delivery",
    "prompt_tokens",
    "repeat_of",
    *TOTALS,
)


@dataclass(slots=True)
class Row:
    """One record on its way into the store."""

    record_id: str
    parent_id: str | None
    created_at: int
    facts: Facts
    event_json: str
    trim_json: str | None
    full_zstd: bytes | None
    idempotency_key: str | None
    seq: int = 0
    turn_number: int | None = None
    is_active: bool = True
    repeat_of: str | None = None  # the session whose record it repeats

    def event(self, session_id: str) -> tuple[Any, ...]:
        """The values of EVENT_COLUMNS."""
        record_facts, usage = self.facts, self.facts.usage
        counts = (
            (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total, usage.cost)
            if usage
            else (None,) * 6
        )
        return (
            session_id,
            self.seq,
            self.created_at,
            self.record_id,
            record_facts.type,
            self.parent_id,
            self.idempotency_key,
            record_facts.kind,
            self.turn_number,
            self.is_active,
            record_facts.is_failed,
            record_facts.is_synthetic,
            record_facts.model,
            record_facts.tool_name,
            len(record_facts.calls),
            *counts,
            error.id if (error := find_group(record_facts)) else None,
            self.trim_json,
            self.event_json,
            self.full_zstd,
        )


def build_row(line: Line, *, before: Row | None, fallback_ms: int) -> Row:
    """The row of a line that holds a record.

    `before` is the record before it, for values that the line leaves out. `fill_row` adds the content of the record, or
    `withhold_row` leaves it out.
    """
    record = line.record
    assert record is not None  # noqa: S101 - the caller sorted lines without a record out
    record_facts = read_facts(record)
    parent_id = record_facts.parent_id
    if parent_id is None and "parentId" not in record and record_facts.kind != "session":
        parent_id = before.record_id if before else None  # older lines have no links: the file's order is the chain
    message = record.get("message")
    key = message.get("idempotencyKey") if isinstance(message, dict) else None
    return Row(
        record_id=record_facts.record_id or f"@{line.offset}",
        parent_id=parent_id,
        created_at=record_facts.created_at or (before.created_at if before else fallback_ms),
        facts=record_facts,
        event_json="",
        trim_json=None,
        full_zstd=None,
        idempotency_key=key if isinstance(key, str) else None,
    )


def fill_row(row: Row, line: Line, keep: Keep | None = None) -> None:
    """Fill the content of the line's record into its row; `keep` as for `trimming.trim`."""
    assert line.record is not None  # noqa: S101 - it has a row
    event_json, row.trim_json, row.full_zstd = trim(line.record, line.raw, keep)
    row.event_json = event_json.decode()


def withhold_row(row: Row) -> Row:
    """Remove the content from a row; its place in the tree stays."""
    row.facts = Facts(row.facts.type, "withheld", record_id=row.record_id)
    row.event_json, row.trim_json, row.full_zstd, row.idempotency_key = '{"type":"withheld"}', None, None, None
    return row


def add_totals(value: Any, other: Any) -> Any:
    """The sum of two totals, of which each may be unknown."""
    return other if value is None else value if other is None else value + other


def sum_totals(numbers: Iterable[Any]) -> Any:
    """The sum of totals; unknown (None) when none of them is known."""
    return reduce(add_totals, numbers, None)


@dataclass(slots=True)
class RecordSums:
    """The sums of rows; synthetic assistants and repeated records add nothing."""

    tool_call_count: int = 0
    error_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float | None = None
    unpriced_tokens: int = 0
    record_count: int = 0
    biggest_prompt: int = 0

    def add(self, row: Row) -> None:
        """Add one row."""
        record_facts = row.facts
        self.record_count += 1
        if record_facts.is_synthetic or row.repeat_of:
            return
        self.tool_call_count += len(record_facts.calls)
        self.error_count += record_facts.is_failed
        if usage := record_facts.usage:
            self.input_tokens += usage.input
            self.output_tokens += usage.output
            self.cache_read_tokens += usage.cache_read
            self.cache_write_tokens += usage.cache_write
            self.total_tokens += usage.total
            if usage.cost is None:
                self.unpriced_tokens += usage.total
            else:
                self.cost_usd = usage.cost + (self.cost_usd or 0)
            if record_facts.kind == "assistant":  # other records may tell of many calls
                self.biggest_prompt = max(self.biggest_prompt, usage.prompt)

    def totals(self) -> tuple[float | None, ...]:
        """The values of TOTALS."""
        return tuple(getattr(self, name) for name in TOTALS)
