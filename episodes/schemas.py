"""Input and output of the ledger's API."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from openclaw_web.endpoints import spellings
from openclaw_web.endpoints.schemas import Body, Page, PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from .append import MOST_AT_ONCE
from .events import EARLIEST_MS, LATEST_MS, NAME_CHARACTERS, PAYLOAD_BYTES, REFS_BYTES, TYPES
from .models import EpisodicEvent
from .queries import MOST_ROWS
from .redaction import REPLACEMENTS
from .retention import MOST_DAYS

MOST_HEADS = 100
Moment = Annotated[int, Field(ge=EARLIEST_MS, le=LATEST_MS)]
StrictMoment = Annotated[int, Field(ge=EARLIEST_MS, le=LATEST_MS, strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
Type = Literal[TYPES]  # type: ignore[valid-type]
SCOPE = "every request is about one scope; `global` is a scope, too"
Scope = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS, description=SCOPE)]
Days = Annotated[int, Field(ge=1, le=MOST_DAYS, strict=True)]
Policy = Annotated[dict[Type, Days | None], Field(description="days by type; null: forever")]


class EventIn(Body):
    """A new event. An event that is sent again is the same event."""

    event_id: str | None = Field(None, description="1 to 128 printable characters without blanks; a new UUID without")
    ts_ms: StrictMoment | None = Field(None, description="time of the event; the current time without")
    scope: Scope
    session_id: Name
    agent_id: Name = Field(description="the actor, any text")
    type: Type
    summary: str = Field(min_length=1, description="at most 1,000 characters")
    payload: Any = Field(None, description=f"at most {PAYLOAD_BYTES:,} bytes of JSON")
    refs: Any = Field(None, description=f"at most {REFS_BYTES:,} bytes of JSON")
    allow_tool_output: bool = Field(
        False, strict=True, description="allow types of tools, and texts that look like a secret"
    )

    @model_validator(mode="before")
    @classmethod
    def spelled(cls, value: Any) -> Any:
        """Return the values under our names; events of a batch may have those of the spec."""
        is_object = isinstance(value, dict)
        return spellings.rename_body(value, spellings.find_spellings(cls.model_fields)) if is_object else value


class EventsIn(Body):
    events: list[EventIn] = Field(min_length=1, max_length=MOST_AT_ONCE, description="all are stored, or none")


class AppendedOut(Schema):
    event_id: str
    is_new: bool = Field(description="false: the event was there already, with the same content")


class BatchOut(Schema):
    new: list[str] = Field(description="ids of events that are new")
    known: list[str] = Field(description="ids of events that were there already, with the same content")


class ScopeQuery(PageQuery):
    """The query of a page of events: always of one scope."""

    scope: Scope
    include_payload: bool = Field(False, description="with payloads; a page ends before 4 MB of texts")
    limit: int = Field(50, ge=1, le=MOST_ROWS)


class EpisodeQuery(ScopeQuery):
    session_id: str | None = Field(None, max_length=NAME_CHARACTERS)
    agent_id: str | None = Field(None, max_length=NAME_CHARACTERS, description="the actor")
    from_ts: Moment | None = Field(None, description="milliseconds: at or after this time")
    to_ts: Moment | None = Field(None, description="milliseconds: at or before this time")
    types: list[str] = Field([], max_length=100, description="repeated, or with commas between them")
    q: str | None = Field(None, max_length=200, description="words in summary, payload or refs; newest first")


class EpisodeOut(table_schema(EpisodicEvent, *("event_id", "ts_ms", "scope", "session_id", "agent_id", "type"))):
    """An event; one that was redacted has no texts."""

    id: int = Field(description="number in the ledger")
    summary: str
    refs: Any = None
    payload: Any = Field(None, description="only with `include_payload`")
    redacted: bool
    schema_version: str
    created_at: str


class EpisodePage(Page[EpisodeOut]):  # type: ignore[misc]
    """A page of events."""

    limit: int = Field(description="the maximum number of events of this answer")
    is_cut: bool = Field(description="more events may fit than this answer has: continue with `next`")
    searched_back_to: int | None = Field(
        description="a search took long: this is the time of the last event that it read; continue with `next`"
    )


class RemovalOut(Schema):
    """Events of a type that retention removed from a scope."""

    type: Type
    removed_count: int
    before_ms: int = Field(description="all of them were older than this time")


class TimelinePage(Page[EpisodeOut]):  # type: ignore[misc]
    """A page of the events of a session."""

    limit: int = Field(description="the maximum number of events of this answer")
    is_cut: bool = Field(description="the session has more events than this answer: continue with `next`")
    gaps: list[RemovalOut] = Field(description="what retention removed, so that events of the session may be missing")


class ScopeOut(Schema):
    scope: str
    event_count: int | None = Field(description="null: counting took too long")
    count_by_type: dict[Type, int] | None


class RedactIn(Body):
    """The events to redact: one event, or all events of a session."""

    scope: Scope
    event_id: Name | None = None
    session_id: Name | None = None
    replacement: Literal[tuple(REPLACEMENTS)] = "placeholder"  # type: ignore[valid-type]
    dry_run: bool = Field(True, strict=True, description="only count the events")


class RedactedOut(Schema):
    scope: str
    event_id: str | None
    session_id: str | None
    replacement: str
    dry_run: bool
    redacted_count: int = Field(description="events that were redacted now, or would be; redacted ones do not count")


class GcIn(Body):
    scope: Scope
    policy: Policy = {}
    dry_run: bool = Field(True, strict=True, description="only count the events")


class GcOut(Schema):
    scope: str
    now_ts_ms: int
    deleted_total: int
    deleted_by_type: dict[Type, int]
    policy_days: dict[Type, int | None] = Field(description="null: forever")
    dry_run: bool


class PolicyQuery(Schema):
    scope: Scope


class PolicyIn(Body):
    scope: Scope
    policy: Policy


class PolicyOut(Schema):
    scope: str
    policy: dict[Type, int | None] = Field(description="days by type; null: forever")


class HeadOut(Schema):
    head: str = Field(description="number of the last event, a colon, and the value of the chain after it")
    last_id: int = Field(description="number of the last event, removed ones included")


class KeptHead(Body):
    """A head that was kept elsewhere."""

    name: str = Field(min_length=1, max_length=100, description="what you call it")
    head: str = Field(min_length=1, max_length=100, description="as this API or the command gave it")


class VerifyIn(Body):
    heads: list[KeptHead] = Field([], max_length=MOST_HEADS, description="compared with the ledger")
