"""Schemas of exports in the API."""

from typing import Annotated, Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Body, PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..models import DatasetExport, DatasetSample
from . import jobs
from .options import LONGEST_NAME, LONGEST_SEED, Options, read_options

FormatName = Literal[
    "alpaca",
    "sharegpt",
    "openai",
    "raw",
    "csv",
    "messages",
    "parquet",
    "sharegpt_reflection",
    "preference",
    "openai_preference",
    "llamafactory_preference",
    "kto",
]
Kind = Literal["injected", "cut_off", "unrecognized", "interrupted", "pictures", "flagged"]


class ExportQuery(PageQuery):
    state: Literal["waiting", "running", "ready", "refused", "failed"] | None = None
    kind: FormatName | None = Field(None, description="format of the files")
    task: Literal["reply", "gate", "guardian"] | None = None
    exported_by: str | None = Field(None, max_length=150, description="user name")


class ExportIn(Body):
    """A new export."""

    name: str = Field(max_length=LONGEST_NAME)
    format: FormatName
    task: Literal["reply", "gate", "guardian"] = "reply"
    only_approved: bool = Field(
        True, description="false: also samples not reviewed yet; rejected samples are never included, except by `kto`"
    )
    train_split: float = Field(0.8, ge=0, le=1)
    validation_split: float = Field(0.0, ge=0, le=1, description="what is left of both shares is for testing")
    duplicates: Literal["one", "keep"] = Field(
        "one",
        description="samples that say the same, or nearly: export one of each group, or all with their sessions on "
        "the same part of the split",
    )
    seed: str = Field("0", max_length=LONGEST_SEED)
    agent: str | None = Field(None, max_length=56)
    sample_types: list[Annotated[str, Field(max_length=40)]] | None = Field(
        None,
        max_length=len(DatasetSample.Type),
        description="leave out for those that the task is taught by: `annotated_turn`, and for the task gate "
        "`memory_gate_positive` and `memory_gate_negative` as well; for the task guardian `write_guardian_decision`",
    )
    min_quality: float | None = Field(None, ge=0, le=1)
    parallel_calls: Literal["list", "split"] = Field(
        "list", description="ShareGPT: calls that ran in parallel as one list, or one after the other (for GLM-4)"
    )
    history: Literal["edited", "session", "context"] = Field(
        "edited",
        description="ShareGPT and OpenAI: what stands before a reply. `edited`: approved turns as far back as "
        "every turn is approved, with edited replies; `session`: one row per session, up to the first "
        "turn that is not approved; `context`: all earlier turns, marked as not to be learned "
        "(`train: false`, `weight: 0`)",
    )
    tool_calls: Literal["keep", "leave_out", "input"] = Field(
        "keep",
        description="`leave_out`: rows without tool calls and results; samples whose reply rests on them are left out. "
        "Alpaca has no place for them and leaves these samples out, or with `input` has the calls and results there",
    )
    include: list[Kind] = Field(
        [],
        max_length=6,
        description="what is left out otherwise: `injected`: turns that OpenClaw started itself (scheduled tasks, "
        "heartbeats), and silent replies; `cut_off`: replies that were cut off (aborted, error, length); "
        "`unrecognized`: messages in lines that look like OpenClaw's own and are not known; `interrupted`: answers "
        "that ended with a tool call, because a person spoke; `pictures`: questions with an image or a file, which "
        "rows leave out; `flagged`: rows with keys and passwords that nobody has judged, redacted, for admins only",
    )
    include_pii: bool = Field(False, description="personal data stays as it is; admins only")
    release: str | None = Field(None, max_length=26, description="id of a release: exactly its members, on their sides")
    split_by: Literal["session", "time"] = Field(
        "session", description="`time`: sessions that ended before `split_day` are for training, the others for testing"
    )
    split_day: str | None = Field(None, max_length=10, description="a date (UTC), such as 2026-11-27")
    without_rolled_back: bool = Field(
        False, description="leave out samples of writes that were rolled back, and of their turns"
    )
    benchmark: str | None = Field(
        None, max_length=26, description="id of a benchmark: samples with half of a text in it are left out"
    )


class CountIn(ExportIn):
    """The options of an export that may be created later."""

    name: str = Field("", max_length=LONGEST_NAME, description="not needed")


class LeftOutOut(Schema):
    reason: str
    count: int
    why: str = Field(description="the reason in words")


class FittingOut(Schema):
    samples: int = Field(description="samples that fit the options")
    rows: int = Field(description="rows they become with the history that was asked for")
    histories: dict[str, int] = Field(description="ShareGPT replies: rows with each history")
    session_samples: int = Field(description="ShareGPT replies: samples that rows of the history `session` teach")
    excluded: list[LeftOutOut]
    counted: int = Field(description="samples that were looked at, in the order of agents, sessions and turns")
    is_more: bool = Field(description="not all samples were looked at: every number is a least one")
    largest_set: int = Field(
        description="samples of the sessions that have to share a side of the split, because they have one id or say "
        "the same words; at least. 0 without a split"
    )
    set_counted: int = Field(description="samples that were looked at for it, at most 10,000")


class OptionsOut(Schema):
    only_approved: bool
    train_split: float
    validation_split: float
    duplicates: str = Field(description="one or keep")
    seed: str
    agent: str | None
    sample_types: list[str]
    min_quality: float | None
    parallel_calls: str
    history: str = Field(description="edited, session or context")
    tool_calls: str = Field(description="keep, leave_out or input")
    include: list[str]
    include_pii: bool
    release: str | None
    split_by: str = Field(description="session or time")
    split_day: str | None
    without_rolled_back: bool
    benchmark: str | None


class ExportOut(table_schema(DatasetExport)):
    name: str = Field(alias="export_name")
    format: str = Field(alias="export_format")
    task: str
    state: str = Field(description="waiting, running, ready, refused or failed")
    options: OptionsOut

    @staticmethod
    def resolve_options(export: DatasetExport) -> Options:
        return read_options(export)


class ReasonOut(Schema):
    id: str
    reason: str


class ExportDetail(ExportOut):
    reasons: list[ReasonOut] = Field(description="rows that training tools would not accept; the first 200")
    manifest: dict[str, Any] | None = Field(description="manifest.json of a ready export")
    verified_by: str | None = Field(description="id of the latest job that compared the files, ended or not")
    difference: dict[str, Any] | None = Field(
        description="the export before of the same format and task (`to`), and rows added, removed, changed or moved "
        "to the other side, each as `count` and first `samples`, and how many are the `same`; or the `problem`"
    )

    @staticmethod
    def resolve_verified_by(export: DatasetExport) -> str | None:
        return job.id if (job := jobs.find_verification(export)) else None

    @staticmethod
    def resolve_difference(export: DatasetExport) -> Any:
        return export.difference or None

    @staticmethod
    def resolve_manifest(export: DatasetExport) -> Any:
        return export.manifest or None
