"""API schemas of imports: their request, the list of skipped files, sessions and turns of the Reflection plugin."""

from typing import Annotated, Any, Self

import orjson
from django.conf import settings
from pydantic import BeforeValidator, Field, model_validator

from agents.models import SkippedSource
from gate.schemas import (
    MAX_DECISIONS,
    MOST_MESSAGES,
    MOST_RAW,
    MessageIn,
    Moment,
    Name,
    Number,
    ReportBody,
    with_reported_columns,
)
from ledger.collectors.jsonl import load_object
from ledger.models import ConversationTurn, Session
from ledger.transcripts.reported_turns import REPLY
from openclaw_web.endpoints.schemas import Body
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from .skipped_list import SkippedFilters


class CollectIn(Body):
    include_deleted: bool = Field(False, description="also import deleted and reset sessions")

    def params(self) -> dict[str, Any]:
        """The parameters of the job, as the page has them: equal requests are one job."""
        source = {"source": str(settings.STATE_DIR)}
        return source | {"include_deleted": True} if self.include_deleted else source


def _check_object(value: Any) -> Any:
    """Return the object of a JSON text, and any object that can be JSON; raises ValueError."""
    try:
        return load_object(orjson.dumps(value) if isinstance(value, dict) else value.encode()) if value else value
    except (TypeError, AttributeError) as exc:  # of orjson: nested deeply
        raise ValueError(f"no JSON object: {exc}") from exc


# A JSON object, or its text, as the specification's tables have it.
Object = Annotated[dict[str, Any] | None, BeforeValidator(_check_object)]
TurnId = Annotated[str, Field(pattern=r"^[\w.:-]{1,200}$")]
Words = Annotated[str, Field(max_length=MOST_RAW, pattern=r"^[^\x00]*$")]


@with_reported_columns(Session)
class SessionIn(ReportBody):
    """One session. Names as in the spec's table, or as in its interface (`channelId`)."""

    id: Name = Field(description="the plugin's key of the conversation")
    created_at: Moment
    last_activity_at: Moment
    metadata: Object = None


class SessionsIn(Body):
    sessions: list[SessionIn] = Field(min_length=1, max_length=MAX_DECISIONS)


@with_reported_columns(ConversationTurn)
class TurnIn(ReportBody):
    """One turn. Names as in the spec's table, or as in its interface (`userMessage`, `agentReply`)."""

    id: TurnId
    session_id: Name
    turn_number: Number
    user_message_content: Words
    user_metadata: Object = None
    agent_message_content: Words
    agent_metadata: Object = None
    created_at: Moment
    context: list[MessageIn] = Field([], max_length=MOST_MESSAGES, description="messages before it, oldest first")

    @model_validator(mode="before")
    @classmethod
    def flattened(cls, value: Any) -> Any:
        """Return the values of both messages under the names of the table."""
        for name, side in (("userMessage", "user"), ("agentReply", "agent")):
            if isinstance(value, dict) and isinstance(inner := value.get(name), dict):
                names = {"id": f"{side}_message_id", "content": f"{side}_message_content"}
                columns = {names.get(key, f"{side}_{key}"): part for key, part in inner.items()}
                value = {key: part for key, part in value.items() if key != name} | columns
        return value

    @model_validator(mode="after")
    def checked(self) -> Self:
        """Refuse an id that the reply of another turn has."""
        if self.id.endswith(REPLY):
            raise ValueError(f"{self.id} cannot be the id of a turn")
        return self


class TurnsIn(Body):
    turns: list[TurnIn] = Field(min_length=1, max_length=MAX_DECISIONS, description="all are stored, or none")


class SkippedQuery(list_query(SkippedFilters)):
    # Also codes of other versions, which the page has no words for.
    reason: str | None = Field(None, max_length=50, description="a code: not_transcript, no_records, secret, …")


class SkippedOut(table_schema(SkippedSource)):
    kind: str
    reason: str
