"""Input and output of the gate's API; commands take and return the same."""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from django.db import models
from pydantic import Field, create_model, model_validator

from ledger.collectors.records import LATEST_MS
from openclaw_web.endpoints import spellings
from openclaw_web.endpoints.schemas import BIGGEST, Body, Schema
from openclaw_web.sqlite import fields
from openclaw_web.sqlite.fields import get_reported_fields

from .models import MemoryGateDecision

DECISIONS = tuple(MemoryGateDecision.Decision.values)
MAX_DECISIONS = 100  # decisions in one request
MOST_TEXT, MOST_RAW, MOST_MESSAGES = 20_000, 1_000_000, 200
Number = Annotated[int, Field(ge=0, le=BIGGEST, strict=True)]
Amount = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False, strict=True)]
Moment = Annotated[int, Field(ge=0, le=LATEST_MS, strict=True)]  # sums are of days that have a date
Name = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f]*[^\x00-\x20][^\x00-\x1f]*$")]
# Part of the address of a decision: no text that a browser resolves, and no page of ours.
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x20/?#%\\]+$")]
NOT_IDS = frozenset((".", "..", "calls", "own", "prompts", "replays", "statistics"))
Text = Annotated[str, Field(max_length=MOST_TEXT, pattern=r"^[^\x00]*$")]
CALL = "llmCall"  # the spec nests the columns of the call
# What a report may say in a column of each type.
TYPES: dict[type[models.Field], Any] = {
    fields.Count: Number,
    fields.Number: Amount,
    fields.PlainText: Name,
    fields.PersonText: Name,
    fields.SpeechText: Text,
}


class ReportBody(Body):
    """The report of an event by a plugin.

    Names are those of the spec's table, or those of its interface.
    """

    nested: ClassVar[tuple[str, ...]] = (CALL,)  # objects of the interface whose keys are columns

    @model_validator(mode="before")
    @classmethod
    def spelled(cls, value: Any) -> Any:
        """Return the values under the names of the table."""
        if not isinstance(value, dict):
            return value
        names, of_call = _spellings(cls)
        values = {names.get(key, key): part for key, part in value.items() if key not in cls.nested}
        for name in cls.nested:
            columns = of_call if name == CALL else names
            if isinstance(inner := value.get(name), dict):
                values = {columns.get(key, key): part for key, part in inner.items()} | values
        return values


T = TypeVar("T", bound=ReportBody)


@cache
def _spellings(schema):
    """Return columns by their names in the interface, and by those within a call.

    Within a call both `latencyMs` and `latency_ms` name a column.
    """
    names = {spellings.to_camel_case(name): name for name in schema.model_fields}
    of_call = {name.removeprefix("llm_"): name for name in schema.model_fields}
    return names, {spellings.to_camel_case(short): name for short, name in of_call.items()} | of_call


def with_reported_columns(table: type[models.Model], *left_out: str) -> Callable[[type[T]], type[T]]:
    """Add the other reported columns of its table to a schema.

    They are optional.
    """

    def complete(schema: type[T]) -> type[T]:
        known = {*schema.model_fields, *left_out}
        columns: dict[str, Any] = {
            field.attname: (TYPES[type(field)] | None, None)
            for field in get_reported_fields(table)
            if field.attname not in known
        }
        return create_model(
            schema.__name__, __base__=schema, __module__=schema.__module__, __doc__=schema.__doc__, **columns
        )

    return complete


class MessageIn(Body):
    role: Literal["user", "agent"]
    message: str = Field(max_length=MOST_RAW, pattern=r"^[^\x00]*$")
    timestamp: Number


@with_reported_columns(MemoryGateDecision, "session_key", "saw_user")
class DecisionIn(ReportBody):
    """One decision. Names as in the spec's table, or as in its interface (`turnId`, `llmCall`)."""

    id: Id = Field(description="sent again with the same content, it is the same decision")
    turn_id: Name | None = Field(None, description="leave out to have the turn found by session and time")
    session_id: Name = Field(description="id or key of the session")
    decision: Literal[DECISIONS]  # type: ignore[valid-type]
    reason: Text
    candidate_fact: Text | None = Field(None, description="required unless the decision is `NO_WRITE`")
    llm_model: Name
    raw_response: str | None = Field(
        None, max_length=MOST_RAW, pattern=r"^[^\x00]*$", description="a long one is stored as an artifact"
    )
    prompt_version: Name | None = Field(None, description="what you call the prompt")
    context: list[MessageIn] | None = Field(
        None, max_length=MOST_MESSAGES, description="messages before the turn, as the gate saw them, oldest first"
    )
    created_at: Moment

    @model_validator(mode="after")
    def is_one(self) -> "DecisionIn":
        """Check that a decision has a reason, and a fact if it is one to write."""
        if self.id in NOT_IDS:
            raise ValueError(f"{self.id} cannot be the id of a decision")
        if not self.reason.strip():
            raise ValueError("reason is required")
        if self.decision != "NO_WRITE" and not (self.candidate_fact or "").strip():
            raise ValueError("candidate_fact is required unless the decision is NO_WRITE")
        return self


class DecisionsIn(Body):
    decisions: list[DecisionIn] = Field(min_length=1, max_length=MAX_DECISIONS, description="all are stored, or none")


class RecordedOut(Schema):
    recorded: list[str] = Field(description="ids that are new")
    known: list[str] = Field(description="ids that were there already")
    withheld: int = Field(description="not stored because somebody opted out, or their session was removed here")
