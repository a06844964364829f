"""What goes into the API of memory_gate and comes out of it; commands take and give the same."""

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ledger.collectors.records import LATEST_MS
from openclaw_web.endpoints import spellings
from openclaw_web.endpoints.schemas import BIGGEST, Body, Schema

from .models import MemoryGateDecision

DECISIONS = tuple(MemoryGateDecision.Decision.values)
MOST = 100  # decisions in one request
MOST_TEXT, MOST_RAW, MOST_MESSAGES = 20_000, 1_000_000, 200
Number = Annotated[int, Field(ge=0, le=BIGGEST, strict=True)]
Moment = Annotated[int, Field(ge=0, le=LATEST_MS, strict=True)]  # sums are of days that have a date
Name = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f]*[^\x00-\x20][^\x00-\x1f]*$")]
# A piece of the address of a decision: nothing that a browser resolves, and no page of ours.
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x20/?#%\\]+$")]
NOT_IDS = frozenset((".", "..", "calls", "own", "prompts", "replays", "statistics"))
Text = Annotated[str, Field(max_length=MOST_TEXT, pattern=r"^[^\x00]*$")]
# The spec nests what is known of the call.
CALL = {
    "model": "llm_model",
    "latency_ms": "llm_latency_ms",
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "raw_response": "raw_response",
}


class MessageIn(Body):
    role: Literal["user", "agent"]
    message: str = Field(max_length=MOST_RAW, pattern=r"^[^\x00]*$")
    timestamp: Number


class DecisionIn(Body):
    """One decision. Names as in the spec's table, or as in its interface (`turnId`, `llmCall`)."""

    id: Id = Field(description="sent again with the same content, it is the same decision")
    turn_id: Name | None = Field(None, description="leave out to have the turn found by session and time")
    session_id: Name = Field(description="id or key of the session")
    decision: Literal[DECISIONS]  # type: ignore[valid-type]
    reason: Text
    candidate_fact: Text | None = Field(None, description="required unless the decision is `NO_WRITE`")
    llm_model: Name
    llm_latency_ms: Number | None = None
    prompt_tokens: Number | None = None
    completion_tokens: Number | None = None
    raw_response: str | None = Field(
        None, max_length=MOST_RAW, pattern=r"^[^\x00]*$", description="a long one is stored as an artifact"
    )
    cost_usd: float | None = Field(None, ge=0, le=1_000_000, allow_inf_nan=False, strict=True)
    prompt_version: Name | None = Field(None, description="what you call the prompt")
    context: list[MessageIn] | None = Field(
        None, max_length=MOST_MESSAGES, description="messages before the turn, as the gate saw them, oldest first"
    )
    created_at: Moment

    @model_validator(mode="before")
    @classmethod
    def spelled(cls, value: Any) -> Any:
        """The names of the table, whichever were used."""
        if not isinstance(value, dict):
            return value
        names, of_call = _spellings(cls)
        found = {names.get(key, key): part for key, part in value.items() if key != "llmCall"}
        call = value.get("llmCall")
        if isinstance(call, dict):
            found = {of_call.get(key, key): part for key, part in call.items()} | found
        return found

    @model_validator(mode="after")
    def is_one(self) -> "DecisionIn":
        """A decision says why, and one to write says what."""
        if self.id in NOT_IDS:
            raise ValueError(f"{self.id} cannot be the id of a decision")
        if not self.reason.strip():
            raise ValueError("reason is required")
        if self.decision != "NO_WRITE" and not (self.candidate_fact or "").strip():
            raise ValueError("candidate_fact is required unless the decision is NO_WRITE")
        return self


@cache
def _spellings(schema):
    names = {spellings.camel(name): name for name in schema.model_fields}
    return names, {spellings.camel(name): column for name, column in CALL.items()} | CALL


class DecisionsIn(Body):
    decisions: list[DecisionIn] = Field(min_length=1, max_length=MOST, description="all are stored, or none")


class RecordedOut(Schema):
    recorded: list[str] = Field(description="ids of decisions that are new")
    known: list[str] = Field(description="ids of decisions that were there already")
    withheld: int = Field(description="decisions that were not stored because somebody opted out")
