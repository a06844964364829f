"""API schemas of decisions, calls and prompts, and of the filters of their lists.

The filters are the same as on the pages.
"""

from typing import Any, Literal

from pydantic import Field

from ledger.models import ConversationContext
from ledger.session.schemas import EvidenceOut, TurnOut
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from ..detail import window_state
from ..models import GateCall, MemoryGateDecision
from .call_list import CallFilters
from .decision_list import DecisionFilters

DECISION = Literal[tuple(MemoryGateDecision.Decision.values)]


class DecisionQuery(list_query(DecisionFilters)):
    with_context: bool = Field(False, description="include what the gate saw")
    with_response: bool = Field(False, description="for operators: include the response of the model")


class SeenMessage(table_schema(ConversationContext, "role", "message", "timestamp")):
    pass


class SeenOut(Schema):
    """The messages that the gate was given."""

    recent_messages: list[SeenMessage] = Field(description="messages before the turn, oldest first")
    current_user_message: str | None = Field(description="null: the gate was not given the message of the user")
    current_agent_reply: str | None
    left_out: int = Field(description="older messages that the gate saw and that were not stored")


class DecisionOut(table_schema(MemoryGateDecision)):
    sources: list[str] = Field(description="where it was told: `api`, `log`, `database`, `own`")
    has_raw_response: bool = Field(description="operators get it with the decision alone")
    context_state: Literal[window_state.STATES] | None = Field(  # type: ignore[valid-type]
        None, description="with the context: as told, derived from the turns before it, lost, or unknown"
    )
    context: SeenOut | None = None
    raw_response: str | None = Field(
        None,
        description="for operators who ask: the response of the model, or the handle of an artifact with it",
    )

    @staticmethod
    def resolve_raw_response(row: Any) -> str | None:
        """The response, if it was read.

        A list reads it only on request.
        """
        return row.__dict__.get("raw_response")

    @staticmethod
    def resolve_sources(row: Any) -> list[str]:
        """The names of the bits of `sources`."""
        return [source.name.lower() for source in MemoryGateDecision.Source if row.sources & source]


class DecisionDetail(DecisionOut):
    """One decision with its turn and what the gate saw."""

    turn: TurnOut | None = Field(description="null: no turn was found, or it is no longer stored")
    evidence: EvidenceOut


class CallQuery(list_query(CallFilters)):
    pass


class CallOut(table_schema(GateCall)):
    """A call of a model for the gate. A call that failed is no decision."""

    has_raw_response: bool


class CallDetail(CallOut):
    """One call, for operators with the response of the model."""

    raw_response: str | None = Field(
        description="for operators: the response of the model, or the handle of an artifact with it"
    )


class PromptOut(Schema):
    """A version of the gate's prompt."""

    id: str
    text: str | None = Field(description="null: a plugin names this version and does not tell its text")
    created_at: int | None = Field(description="when it was first used; null: not known")
    decision_count: int = Field(description="decisions with this prompt, counted up to 10,000")
