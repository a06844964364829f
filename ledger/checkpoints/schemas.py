"""The format of a checkpoint pack, field by field; docs/checkpoints.md has its rules."""

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field
from pydantic import ValidationError as ValidationError

from artifacts import handles
from openclaw_web.endpoints.schemas import Schema

Item = TypeVar("Item")
Number = Annotated[int, Field(ge=0, lt=2**53)]
Moment = Annotated[int, Field(ge=-(2**53), lt=2**53, description="milliseconds since 1970 UTC")]


class PackList(Schema, Generic[Item]):
    items: list[Item]
    more: Number = Field(description="how many others were left out")


class PackSession(Schema):
    id: str


class PackCompaction(Schema):
    record_id: str
    at: Moment
    first_kept_record_id: str | None
    kept: Literal["found", "missing", "unknown"]
    previous_record_id: str | None = Field(description="the previous compaction on the same branch")
    context_before: Number | None = Field(description="tokens in the model's context before the compaction")
    context_after: Number | None
    from_hook: bool


class PackSummary(Schema):
    text: str
    length: Number = Field(description="characters of the full text")
    is_withheld: bool = Field(description="withheld because it mentions people who opted out")


class PackPart(Schema):
    first_record_id: str | None
    last_record_id: str | None
    record_count: Number
    withheld_count: Number
    turn_count: Number
    started_at: Moment | None
    ended_at: Moment | None


class PackTurn(Schema):
    number: Number
    user_record_id: str | None
    is_continued: bool
    first_record_id: str
    last_record_id: str
    record_count: Number
    started_at: Moment
    ended_at: Moment
    words: str
    injected: str
    reply: str
    models: list[str]
    calls: Number
    failures: Number


class PackFile(Schema):
    path: str
    calls: Number
    record_id: str | None
    turn: Number | None
    is_named: bool = Field(description="the compaction names this file")


class PackDecision(Schema):
    source: str
    text: str
    record_id: str | None
    turn: Number | None
    at: Moment | None


class PackCall(Schema):
    record_id: str
    number: Number = Field(description="position among the calls of its record")
    tool: str
    argument: str
    turn: Number | None
    at: Moment
    answered_by: str | None = Field(description="a result among the kept records")


class PackError(Schema):
    kind: Literal["tool", "model"]
    tool: str
    argument: str
    record_id: str
    turn: Number | None
    at: Moment
    exit_code: int | None
    text: str
    count: Number
    put_right_by: str | None = Field(description="a success among the kept records")


class PackOutput(Schema):
    handle: str = Field(pattern=f"^{handles.PREFIX}[0-9a-f]{{64}}$")
    relation: Literal["output", "mentioned"]
    summary: str
    content_type: str | None
    chars: Number | None
    bytes: Number | None
    lines: Number | None
    tool: str
    record_id: str
    turn: Number | None
    uses: Number
    fetch: str = Field(description="the command that reads the artifact")


class PackBundle(Schema):
    budget_chars: Number
    text: str
    left_out: dict[str, Number]


class Pack(Schema):
    """A checkpoint."""

    schema_id: Literal["openclaw-web.checkpoint_pack.v1"] = Field(alias="schema")
    agent: str
    session: PackSession
    compaction: PackCompaction
    summary: PackSummary
    part: PackPart
    turns: PackList[PackTurn]
    files_read: PackList[PackFile]
    files_modified: PackList[PackFile]
    decisions: PackList[PackDecision]
    open_calls: PackList[PackCall]
    open_errors: PackList[PackError]
    artifacts: PackList[PackOutput]
    bundle: PackBundle
