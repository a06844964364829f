"""What the API says about sessions, their records and turns."""

from typing import Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import PageQuery, Schema

from ..json_columns import object_in
from ..models import TranscriptEvent

Branch = Literal["active", "all"]
COST = Field(description="US dollars of the calls whose cost is known; null if no cost is known")
UNPRICED = Field(description="tokens of calls whose cost is unknown")
REPEATED = Field(description="the session from which this was copied; null for its own. Copies are in no sum")
BRANCH = Field("active", description="only the current branch of the session, or every record")


class EventQuery(PageQuery):
    limit: int = Field(100, ge=1, le=500)
    branch: str = Field(
        "active", max_length=300, description="`active`, `all`, or the `leaf_id` of one of the session's branches"
    )
    kind: TranscriptEvent.Kind | None = None
    failed: bool | None = Field(None, description="only records that failed, or only those that did not")
    tool: str | None = Field(None, max_length=256, description="only results of this tool")
    include_payload: bool = Field(
        False, description="include the records themselves; a page then ends after about 2 MB"
    )


class TurnQuery(PageQuery):
    branch: Branch = BRANCH


class TotalsOut(Schema):
    """Sums; synthetic assistants and repeated records are in none of them."""

    tool_call_count: int
    error_count: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    total_tokens: int
    cost_usd: float | None = COST
    unpriced_tokens: int = UNPRICED


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


class SessionDetailOut(SessionOut):
    metadata: dict[str, Any] = Field(description="what OpenClaw's index of sessions says of it; empty: nothing")

    @staticmethod
    def resolve_metadata(session):
        return object_in(session.metadata)


class StashedOut(Schema):
    """An output stored as an artifact; the payload contains its preview."""

    path: str = Field(description="location of the preview in the payload, such as `message.content.0.text`")
    handle: str = Field(
        description="handle of the output: GET /agents/{agent}/artifacts/{handle}/fetch gives parts, …/content all"
    )
    chars: int
    bytes: int
    lines: int
    summary: str
    is_flagged: bool = Field(description="may contain secrets: only admins get the full output")


class EventOut(Schema):
    seq: int
    record_id: str | None = Field(None, description="id of the record, or @<byte offset> when the record has no id")
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
    cost_usd: float | None = Field(description="US dollars; null if unknown")
    repeat_of: str | None = REPEATED
    payload: dict[str, Any] | None = Field(
        None, description="the record; long texts are cut, and outputs stored as artifacts are previews"
    )
    payload_bytes: int | None = Field(None, description="for a record too large for an answer, only its size")
    trimmed: dict[str, Any] | None = Field(None, description="parts left out of the payload: see the documentation")
    stashed: list[StashedOut] | None = Field(None, description="outputs of which the payload contains only a preview")


class BranchOut(Schema):
    """An abandoned branch of a session."""

    leaf_id: str = Field(description="last record of the branch")
    leaf_seq: int
    first_seq: int = Field(description="first record that belongs only to this branch")
    fork_seq: int | None = Field(description="the record from which it branches; null if it has its own beginning")
    fork_id: str | None
    record_count: int = Field(description="number of records that belong only to this branch")
    ended_at: int | None
    words: str = Field(description="beginning of the branch")


class BranchList(Schema):
    items: list[BranchOut]
    count: int = Field(description="number of branches; `items` contains at most the latest 200")


class TurnOut(TotalsOut):
    id: str
    session_id: str
    turn_number: int
    is_active: bool
    user_message_id: str | None
    user_message_content: str
    user_from: str | None
    user_metadata: dict[str, Any] = Field(description="what is known of who sent the message; empty: nothing")
    agent_message_id: str | None
    agent_message_content: str
    agent_metadata: dict[str, Any] = Field(description="provider, stopReason and error of the reply, where recorded")
    model: str | None
    created_at: int
    latency_ms: int | None
    first_seq: int
    last_seq: int
    record_count: int
    repeat_of: str | None = REPEATED

    @staticmethod
    def resolve_user_metadata(turn):
        return object_in(turn.user_metadata)

    @staticmethod
    def resolve_agent_metadata(turn):
        return object_in(turn.agent_metadata)


class ContextItem(Schema):
    id: int | None = Field(description="null while the turn is not used as evidence: then nothing is stored")
    turn_id: str
    role: Literal["user", "agent"]
    message: str
    timestamp: int
    sequence_number: int = Field(description="position among these messages; the oldest is 0")


class ContextOut(Schema):
    turn_id: str
    session_id: str
    turn_number: int
    is_kept: bool = Field(description="as stored when the turn became evidence; otherwise computed now")
    left_out: int = Field(description="older messages left out because an answer ends at 2 MB")
    items: list[ContextItem] = Field(description="oldest first")
    model_prompt: str | None = Field(
        None,
        description="what the model saw of the user's message, as far as OpenClaw recorded it; never the user's words",
    )


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


class MessageOut(Schema):
    """The beginning of a message."""

    role: Literal["user", "agent"]
    author: str = Field(description="name that the channel gave; empty: none, or nobody sent it")
    injected: str = Field(description="what sent the message in place of a person, such as `cron`; empty: a person")
    text: str = Field(description="at most 4,000 characters")
    length: int = Field(description="characters of the message, of which at most 8,000 are counted")
    at: int | None = Field(description="null: not known")
    turn_number: int
    record_id: str | None = Field(description="of the record with the whole message")


class EvidenceOut(Schema):
    """The message that a fact comes from, and the two messages on each side."""

    session_id: str = Field(description="empty: not known")
    session_title: str | None = Field(None, description="null: the session is not stored")
    turn_number: int | None
    message: MessageOut | None
    missing: str = Field(description="why there is no message; empty: there is one")
    before: list[MessageOut]
    after: list[MessageOut]

    @staticmethod
    def resolve_session_title(evidence: Any) -> str | None:
        """The title alone."""
        return evidence.session.title if evidence.session else None
