"""API schemas of decisions, calls and prompts, and of the filters of their lists.

The filters are the same as on the pages.
"""

from typing import Any, Literal

from pydantic import Field

from ledger.models import ConversationContext
from ledger.session.schemas import EvidenceOut, TurnOut
from openclaw_web.endpoints.schemas import LARGEST_FIRST, SEGMENT, Schema, TimeRangeQuery
from openclaw_web.endpoints.table_schemas import table_schema

from ..detail import window_state
from ..models import GateCall, MemoryGateDecision
from ..models.decisions import SLOW_MS
from ..words import VERDICT_WORDS
from .call_list import SEGMENTS, CallFilters
from .decision_list import DecisionFilters

DECISION = Literal[tuple(MemoryGateDecision.Decision.values)]
ORIGIN = Literal[tuple(MemoryGateDecision.Origin.values)]
DECISION_SORTS, CALL_SORTS = (Literal[filters.sorts()] for filters in (DecisionFilters, CallFilters))
SESSION = "id or key of a session; a key that several sessions had is searched for"


class DecisionQuery(TimeRangeQuery):
    decision: DECISION | None = None  # type: ignore[valid-type]
    session: str | None = Field(None, max_length=500, description=SESSION)
    model: str | None = Field(None, max_length=500)
    prompt: str | None = Field(None, max_length=500, description="version of the prompt")
    origin: ORIGIN | None = None  # type: ignore[valid-type]
    slow: bool = Field(False, description=f"only decisions that took {SLOW_MS:,} ms or more")
    unseen: bool = Field(False, description="only decisions whose gate saw no message of the user")
    unmatched: bool = Field(False, description="only decisions without a turn")
    verdict: Literal[tuple(VERDICT_WORDS)] | None = Field(  # type: ignore[valid-type]
        None, description="only decisions that people judged so, judged at all, or did not judge"
    )
    q: str = Field("", max_length=200, description="words in the reason or the fact; a page searches for 200 ms")
    with_context: bool = Field(False, description="include what the gate saw")
    with_response: bool = Field(False, description="for operators: include the response of the model")
    sort: DECISION_SORTS = Field(DecisionFilters.DEFAULT, description=LARGEST_FIRST)  # type: ignore[valid-type]


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


class CallQuery(TimeRangeQuery):
    segment: Literal[tuple(SEGMENTS.parts)] = Field("all", description=SEGMENT)  # type: ignore[valid-type]
    model: str | None = Field(None, max_length=500)
    session: str | None = Field(None, max_length=500, description=SESSION)
    sort: CALL_SORTS = Field(CallFilters.DEFAULT, description=LARGEST_FIRST)  # type: ignore[valid-type]


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
