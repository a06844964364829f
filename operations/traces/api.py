"""API of traces: export whole sessions, and fetch the files."""

from typing import Any, Literal

from django.http import Http404
from django.utils.translation import gettext as _
from ninja import Status
from pydantic import Field

from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.lists.filter_line import LONGEST
from openclaw_web.pages.roles import needs

from . import job as trace_job
from .export import FORMATS, TraceRequest

router = Operations("traces_api", tags=["traces"])
ANY_CONTENT = {"content": {"*/*": {}}}


class TraceIn(Body):
    """The sessions of an export, and its format."""

    format: Literal[tuple(FORMATS)]
    agent: str = Field("", max_length=56, description="empty: of all agents")
    session: str = Field("", max_length=500, description="id of one session of the agent")
    filter: str = Field(
        "", max_length=LONGEST, description="filters of the list of sessions in one line, such as `origin:cron cost>1`"
    )
    include_flagged: bool = Field(
        False, description="sessions with keys and passwords that nobody has judged, redacted; admins only"
    )
    include_pii: bool = Field(False, description="personal data stays as it is; admins only")


class TraceOut(Schema):
    """An export of sessions."""

    trace_id: str
    job: JobOut | None
    receipt: dict[str, Any] = Field(
        description="what is in the files: `sessions`, `files`, `left_out` with reasons, `withheld`, `redaction`; "
        "empty until the job has ended, and a week later"
    )


@router.post("/traces", {202: TraceOut}, 400, 404, 409)
@needs("labeller")
def trace_create(request, body: TraceIn):
    """Export whole sessions; a job writes the files."""
    trace_id, job = trace_job.start(
        TraceRequest(**body.dict()), by=request.user.username, is_admin=request.user.has_role("admin")
    )
    return Status(202, {"trace_id": trace_id, "job": job, "receipt": {}})


@router.get("/traces/{trace_id}", TraceOut, 404, 409)
@needs("labeller")
def trace_detail(request, trace_id: str):
    """One export of sessions: its job, and what was written."""
    job, receipt = trace_job.find_job(trace_id), trace_job.read_receipt(trace_id)
    if job is None and not receipt:
        raise Http404(_("There is no export of sessions %(id)s.") % {"id": trace_id[:100]})
    return {"trace_id": trace_id, "job": job, "receipt": receipt}


@router.get("/traces/{trace_id}/file", {200: None}, 404, 409, openapi_extra={"responses": {200: ANY_CONTENT}})
@needs("labeller")
def trace_file(request, trace_id: str):
    """The file of an export, or a ZIP of its files with the receipt.

    403 for everybody but admins when it may contain personal data, or keys that nobody has judged.
    """
    return trace_job.build_download(trace_id, by=request.user.username, is_admin=request.user.has_role("admin"))
