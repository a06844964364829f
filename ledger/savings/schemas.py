"""What the API says about savings. Tokens of outputs are estimates: characters / `chars_per_token`."""

from typing import Literal

from ninja import Schema
from pydantic import Field


class SavingsQuery(Schema):
    days: Literal["7", "35", "90", "365"] = Field("35", description="the last days, UTC")
    tool: str = Field("", max_length=256, description="only outputs of this tool")
    channel: str = Field("", max_length=500, description="only sessions of this channel")


class TurnsQuery(Schema):
    after: str | None = Field(None, max_length=1000, description="`prompts.next` of the answer before")
    before: str | None = Field(None, max_length=1000, description="`prompts.previous` of the answer after")


class SumsOut(Schema):
    """What outputs add up to."""

    call_count: int
    result_count: int
    failed_count: int
    chars: int = Field(description="of all results")
    tokens: int
    stashed_count: int = Field(description="outputs that are artifacts")
    stashed_chars: int
    stashed_tokens: int
    kept_chars: int = Field(description="of preview, summary and handle, which would stay in the prompt")
    kept_tokens: int
    saved_chars: int = Field(description="what could be kept off the prompt, each output once")
    saved_tokens: int
    carried_chars: int = Field(
        description="the same once for each later model call of the session up to the next compaction"
    )
    carried_tokens: int


class ToolSumsOut(SumsOut):
    tool: str = Field(description="empty when the records do not say")


class UseOut(Schema):
    """An output that is an artifact, and a record it came in."""

    handle: str
    chars: int
    lines: int
    tool: str | None
    summary: str
    session_id: str
    record_id: str
    created_at: int
    uses: int = Field(description="how often its content came; 1 in `largest`")
    wasted_chars: int = Field(description="the characters of every time but the first")


class BandOut(Schema):
    """Where the middle 80% of prompts lie, in tokens."""

    low: int
    high: int
    times: float = Field(description="high / low")
    count: int = Field(description="turns")


class SavingsOut(Schema):
    chars_per_token: int
    totals: SumsOut
    tools: list[ToolSumsOut] = Field(description="at most 50, those with the most characters first")
    content_count: int = Field(description="different contents among the stashed outputs")
    largest: list[UseOut]
    repeated: list[UseOut] = Field(description="contents that came more than once")
    prompt_tokens: int = Field(description="all tokens that models read, as the records say")
    carried_percent: float | None = Field(description="carried tokens in percent of these")
    uncounted_sessions: int = Field(
        description="at least so many sessions have no sums, which `stash_outputs` makes; 1001: more than 1,000"
    )
    is_cut: bool = Field(
        description="contents, largest and repeated are of a part of the uses: an agent's newest, a session's largest"
    )


class DayPromptsOut(Schema):
    date: str
    turn_count: int
    median: int
    high: int = Field(description="nine of ten prompts are below")


class AgentPromptsOut(Schema):
    """The biggest prompt of each turn, by day."""

    days: list[DayPromptsOut]
    band: BandOut | None
    since: int | None = Field(description="milliseconds: only turns after this moment, when there are too many")


class AgentSavingsOut(SavingsOut):
    since: str = Field(description="the first day, UTC")
    looked_since: int | None = Field(description="milliseconds: when it is cut, only uses after this moment")
    prompts: AgentPromptsOut


class TurnPromptOut(Schema):
    turn_number: int
    prompt_tokens: int | None
    compactions: int


class SessionPromptsOut(Schema):
    """The biggest prompt of each turn of the active branch: the latest 60, in order, or those beside them."""

    turns: list[TurnPromptOut]
    band: BandOut | None
    next: str | None = Field(description="for earlier turns")
    previous: str | None = Field(description="for later turns")


class SessionSavingsOut(SavingsOut):
    prompts: SessionPromptsOut
