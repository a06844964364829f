"""API of exports: create one, see its progress, download its files."""

from dataclasses import fields
from typing import Annotated, Any, Literal

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Query, Status
from pydantic import Field, create_model

from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Page, Schema, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query
from openclaw_web.lists.filter_line import LONGEST
from openclaw_web.pages import files
from openclaw_web.pages.roles import needs

from ..models import DatasetExport, DatasetSample
from . import exports, jobs
from .export_count import count_export
from .export_list import EXPORTS, ExportFilters
from .exports import download_zip
from .jobs import start_export, start_verify
from .options import INCLUDED, LONGEST_NAME, LONGEST_SEED, MOST_CAP, Options, check_download, read_options

FormatName = Literal[tuple(DatasetExport.Format.values)]
Kind = Literal[INCLUDED]


class ExportQuery(list_query(ExportFilters)):
    pass


class SampleOptions(Body):
    """The samples of an export or a dataset, and their split."""

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
    split_by: Literal["session", "time"] = Field(
        "session", description="`time`: sessions that ended before `split_day` are for training, the others for testing"
    )
    split_day: str | None = Field(None, max_length=10, description="a date (UTC), such as 2026-11-27")
    benchmark: str | None = Field(
        None, max_length=26, description="id of a benchmark: samples with half of a text in it are left out"
    )
    sample_filter: str = Field(
        "",
        max_length=LONGEST,
        description="filters of the list of samples in one line, such as `agent:main by:ann from:2026-11-01`; only "
        "samples that fit are used",
    )
    max_per_session: int | None = Field(None, ge=1, le=MOST_CAP, description="the best samples of each session")
    max_per_tool: int | None = Field(
        None, ge=1, le=MOST_CAP, description="of the turns that called a tool; for each tool"
    )
    max_per_twins: int | None = Field(
        None, ge=1, le=MOST_CAP, description="of samples that say the same, or nearly; replaces `duplicates`"
    )


class ExportIn(SampleOptions):
    """A new export."""

    name: str = Field(max_length=LONGEST_NAME)
    format: FormatName
    parallel_calls: Literal["list", "split"] = Field(
        "list", description="calls that ran in parallel as one list, or one after the other, each with its result"
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
        max_length=len(INCLUDED),
        description="what is left out otherwise: `injected`: turns that OpenClaw started itself (scheduled tasks, "
        "heartbeats), and silent replies; `cut_off`: replies that were cut off (aborted, error, length); "
        "`unrecognized`: messages in lines that look like OpenClaw's own and are not known; `interrupted`: answers "
        "that ended with a tool call, because a person spoke; `pictures`: questions with an image or a file, which "
        "rows leave out; `rolled_back`: writes that were rolled back and not corrected, and their turns; `flagged`: "
        "rows with keys and passwords that nobody has judged, redacted, for admins only",
    )
    rebuild_system: bool = Field(
        False,
        description="where the system prompt of a conversation is not known: rebuild it from the workspace files that "
        "the store holds for the moment of the turn, with a first line that says so",
    )
    include_pii: bool = Field(False, description="personal data stays as it is; admins only")
    weights: bool = Field(
        False, description="raw, csv and parquet: a column `weight`, 1 / the samples of the session in the export"
    )
    release: str | None = Field(None, max_length=26, description="id of a release: exactly its members, on their sides")


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


OptionsOut = create_model(
    "OptionsOut",
    __base__=Schema,
    **{field.name: (field.type, ...) for field in fields(Options) if field.name not in ("format", "task")},
)


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


router = Operations("operations_exports_api", tags=["exports"])
ANY_CONTENT = {"content": {"*/*": {}}}
A_ZIP = {"content": {"application/zip": {}}}
RANGE = {
    "in": "header",
    "name": "Range",
    "required": False,
    "schema": {"type": "string"},
    "description": "`bytes=1000-`: the part to send, with status 206; continues an interrupted download",
}


@router.get("/exports", Page[ExportOut], 409)
@needs("viewer")
def export_list(request, filters: Query[ExportQuery]):
    """All exports, newest first."""
    return page_to_json(EXPORTS.fits(request.user, **filters.criteria()).page(**filters.place))


@router.post("/exports", {202: ExportOut}, 400, 409)
@needs("labeller")
def export_create(request, body: ExportIn):
    """Create an export, which is built by a job. Get the export to see its state."""
    is_admin = request.user.has_role("admin")
    return Status(202, start_export(by=request.user.username, is_admin=is_admin, **body.dict()))


@router.post("/exports/count", FittingOut, 400, 409)
@needs("labeller")
def export_count(request, body: CountIn):
    """How many samples fit these options, and how many rows they become. Writes nothing.

    Exact up to 50,000 samples. Duplicates, lost outputs, possible secrets, row lengths and decisions are only known
    once rows are written: they are not counted here.
    """
    return count_export(Options(**body.dict(exclude={"name"}))).as_json()


@router.get("/exports/{export_id}", ExportDetail, 404)
@needs("viewer")
def export_detail(request, export_id: str):
    """One export: its state, the content of its files, or the rows that prevent it."""
    return get_object_or_404(DatasetExport, id=export_id)


@router.get(
    "/exports/{export_id}/files/{name}",
    {200: None, 206: None},
    404,
    409,
    416,
    openapi_extra={"parameters": [RANGE], "responses": {200: ANY_CONTENT, 206: ANY_CONTENT}},
)
@needs("viewer")
def export_file(request, export_id: str, name: str):
    """One file of a ready export: any that its manifest names, or `manifest.json`.

    Its ETag is its sha256.

    Files with rows of texts that may hold secrets are for admins: 403 for everybody else; 409 for a file that was
    changed.
    """
    export = get_object_or_404(DatasetExport, id=export_id)
    path = exports.find_file_to_send(export, name)
    if path is None:
        raise Http404(_("There is no file %(name)s in this export.") % {"name": name})
    check_download(export, name, by=request.user.username, is_admin=request.user.has_role("admin"))
    checksum, content_type = exports.get_checksum(export, name), exports.content_type(name)
    return files.download(request, path, checksum=checksum, content_type=content_type)


@router.get("/exports/{export_id}/zip", {200: None}, 404, 409, openapi_extra={"responses": {200: A_ZIP}})
@needs("viewer")
def export_zip(request, export_id: str):
    """All files of a ready export in one ZIP with one folder.

    The same export gives the same bytes.

    403 as for a file with rows that only admins may download; 409 when a file is missing or was changed.
    """
    export = get_object_or_404(DatasetExport, id=export_id, state=DatasetExport.State.READY)
    check_download(export, None, by=request.user.username, is_admin=request.user.has_role("admin"))
    return download_zip(export)


@router.post("/exports/{export_id}/verify", {202: JobOut}, 404, 409)
@needs("labeller")
def export_verify(request, export_id: str):
    """Compare every file of an export with what was written; returns the job.

    The job's result has each file with its state: `intact`, `changed`, `missing` or `unexpected`.
    """
    export = get_object_or_404(DatasetExport, id=export_id)
    return Status(202, start_verify(export, by=request.user.username))
