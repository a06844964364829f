"""Sessions, their records and turns in the API."""

from typing import Any, Literal

from pydantic import Field

from artifacts.models import Artifact
from openclaw_web.endpoints.schemas import PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..models import ConversationContext, ConversationTurn, RejectedRecord, Session, TranscriptEvent

Branch = Literal["active", "all"]
COST = Field(description="US dollars of the calls whose cost is known; null if no cost is known")
UNPRICED = Field(description="tokens of calls whose cost is unknown")
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


class SessionOut(table_schema(Session)):
    source_state: str


class SessionDetailOut(SessionOut):
    metadata: dict[str, Any] = Field(description="what OpenClaw's index of sessions says of it; empty: nothing")

    @staticmethod
    def resolve_metadata(session):
        return session.index_facts


class StashedOut(table_schema(Artifact, "chars", "bytes", "lines", "summary")):
    """An output stored as an artifact; the payload contains its preview."""

    path: str = Field(description="location of the preview in the payload, such as `message.content.0.text`")
    handle: str = Field(
        description="handle of the output: GET /agents/{agent}/artifacts/{handle}/fetch gives parts, …/content all"
    )
    is_flagged: bool = Field(description="may contain secrets: only admins get the full output")


class EventOut(table_schema(TranscriptEvent)):
    record_id: str | None = Field(None, description="id of the record, or @<byte offset> when the record has no id")
    parent_id: str | None = None
    kind: str
    payload: dict[str, Any] | None = Field(
        None, description="the record; long texts are cut, and outputs stored as artifacts are previews"
    )
    payload_bytes: int | None = Field(None, description="for a record too large for an answer, only its size")
    trimmed: dict[str, Any] | None = Field(None, description="parts left out of the payload: see the documentation")
    stashed: list[StashedOut] | None = Field(None, description="outputs of which the payload contains only a preview")

    @staticmethod
    def resolve_record_id(event: TranscriptEvent) -> str | None:
        """Its column has the name of the spec."""
        return event.event_id


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


class TurnOut(table_schema(ConversationTurn)):
    user_metadata: dict[str, Any] = Field(description="what is known of who sent the message; empty: nothing")
    agent_metadata: dict[str, Any] = Field(description="provider, stopReason and error of the reply, where recorded")

    @staticmethod
    def resolve_user_metadata(turn):
        return turn.sender

    @staticmethod
    def resolve_agent_metadata(turn):
        return turn.reply_details


class ContextItem(table_schema(ConversationContext)):
    id: int | None = Field(description="null while the turn is not used as evidence: then nothing is stored")


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


class RejectedOut(table_schema(RejectedRecord)):
    id: int


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
