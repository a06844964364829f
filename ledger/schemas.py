"""What the API says about sessions, their records and turns."""

from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from agents.schemas import PageFilters

Branch = Literal["active", "all"]
BRANCH = Field("active", description="the branch the session ended with, or every record")


class SessionFilters(PageFilters):
    channel: str | None = Field(None, max_length=200)
    model: str | None = Field(None, max_length=200)
    origin: str | None = Field(None, max_length=50, description="main, direct, group, channel, cron, subagent, …")
    q: str = Field("", max_length=200, description="words of the title")
    errors: bool = Field(False, description="only sessions with a failed tool or model call")


class EventFilters(PageFilters):
    limit: int = Field(100, ge=1, le=500)
    branch: Branch = BRANCH
    include_payload: bool = Field(False, description="with the record itself; the page then ends after about 2 MB")


class TurnFilters(PageFilters):
    branch: Branch = BRANCH


class TotalsOut(Schema):
    """Sums; synthetic assistants are in none of them."""

    tool_call_count: int
    error_count: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    total_tokens: int
    cost_usd: float


class SessionOut(TotalsOut):
    id: str
    session_key: str | None
    channel_id: str
    conversation_target: str | None
    account_id: str | None
    origin: str
    source_state: str
    title: str
    model: str | None
    created_at: int
    last_activity_at: int
    record_count: int
    turn_count: int
    compaction_count: int
    withheld_count: int


class SessionPage(Schema):
    items: list[SessionOut]
    next: str | None


class EventOut(Schema):
    seq: int
    record_id: str | None = Field(None, description="the record's id, or @<byte offset> when it has none")
    parent_id: str | None = None
    created_at: int
    kind: str
    turn_number: int | None
    is_active: bool
    is_failed: bool
    is_synthetic: bool
    model: str | None
    tool_name: str | None
    tool_call_count: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    total_tokens: int | None
    cost_usd: float | None
    payload: dict[str, Any] | None = Field(None, description="the record, long texts cut")
    payload_bytes: int | None = Field(None, description="a record that is too big for an answer has only its size")
    trimmed: dict[str, Any] | None = Field(None, description="what the payload leaves out: see the documentation")


class EventPage(Schema):
    items: list[EventOut]
    next: str | None


class TurnOut(TotalsOut):
    id: str
    session_id: str
    turn_number: int
    is_active: bool
    user_message_id: str | None
    user_message_content: str
    user_from: str | None
    agent_message_id: str | None
    agent_message_content: str
    model: str | None
    created_at: int
    latency_ms: int | None
    first_seq: int
    last_seq: int
    record_count: int


class TurnPage(Schema):
    items: list[TurnOut]
    next: str | None


class RejectedOut(Schema):
    id: int
    file: str
    byte_offset: int
    byte_length: int
    reason: str
    detail: str
    raw_preview: str
    session_id: str | None
    created_at: int


class RejectedPage(Schema):
    items: list[RejectedOut]
    next: str | None
