"""Savings in the API; tokens of outputs are estimates: characters / `chars_per_token`."""

from typing import Literal

from pydantic import Field

from artifacts.models import Artifact
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..models import SessionTool


class SavingsQuery(Schema):
    days: Literal["7", "35", "90", "365"] = Field("35", description="number of days, counted back from today (UTC)")
    tool: str = Field("", max_length=256, description="only outputs of this tool")
    channel: str = Field("", max_length=500, description="only sessions of this channel")


class TurnsQuery(Schema):
    after: str | None = Field(None, max_length=1000, description="`prompts.next` of the preceding answer")
    before: str | None = Field(None, max_length=1000, description="`prompts.previous` of the following answer")


class SumsOut(table_schema(SessionTool)):
    """Totals of outputs."""

    tokens: int
    stashed_tokens: int
    kept_tokens: int
    saved_chars: int = Field(description="avoidable characters, each output counted once")
    saved_tokens: int
    carried_tokens: int


class ToolSumsOut(SumsOut):
    tool: str = Field(description="empty when the records do not say")


class UseOut(table_schema(Artifact, "handle", "chars", "lines", "tool", "summary", "created_at")):
    """An output stored as an artifact, and a record that contained it."""

    session_id: str
    record_id: str
    uses: int = Field(description="how often the content occurred; 1 in `largest`")
    wasted_chars: int = Field(description="characters of every occurrence except the first")


class BandOut(Schema):
    """The range of the middle 80% of prompts, in tokens."""

    low: int
    high: int
    times: float = Field(description="high / low")
    count: int = Field(description="turns")


class SavingsOut(Schema):
    chars_per_token: int
    totals: SumsOut
    tools: list[ToolSumsOut] = Field(description="at most 50, most characters first")
    content_count: int = Field(description="different artifacts among the stored outputs")
    largest: list[UseOut]
    repeated: list[UseOut] = Field(description="artifacts that occurred more than once")
    prompt_tokens: int = Field(description="all tokens read by models, according to the records")
    carried_percent: float | None = Field(description="re-read tokens in percent of these")
    is_cut: bool = Field(
        description="contents, largest and repeated cover only the newest uses of an agent, or the largest of a session"
    )


class DayPromptsOut(Schema):
    date: str
    turn_count: int
    median: int
    high: int = Field(description="nine of ten prompts are smaller")


class AgentPromptsOut(Schema):
    """The largest prompt of each turn, by day."""

    days: list[DayPromptsOut]
    band: BandOut | None
    since: int | None = Field(description="milliseconds: only turns after this time, if there are too many")


class AgentSavingsOut(SavingsOut):
    since: str = Field(description="the first day, UTC")
    looked_since: int | None = Field(description="milliseconds: if the answer is cut, only uses after this time")
    prompts: AgentPromptsOut


class TurnPromptOut(Schema):
    turn_number: int
    prompt_tokens: int | None
    compactions: int


class SessionPromptsOut(Schema):
    """The largest prompt of each turn of the current branch.

    These are the latest 60 in order, or the 60 before or after.
    """

    turns: list[TurnPromptOut]
    band: BandOut | None
    next: str | None = Field(description="for earlier turns")
    previous: str | None = Field(description="for later turns")


class SessionSavingsOut(SavingsOut):
    prompts: SessionPromptsOut
