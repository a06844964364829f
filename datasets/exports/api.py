"""API of exports: create one, see its progress, download its files."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Query, Status

from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.pages import files
from openclaw_web.pages.roles import needs

from ..models import DatasetExport
from . import exports, secret_access, zip_download
from .builder.export_count import count_export
from .export_list import EXPORTS
from .jobs import start_export, start_verify
from .options import BY_TASK, Options
from .schemas import CountIn, ExportDetail, ExportIn, ExportOut, ExportQuery, FittingOut

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
    criteria = filters.criteria(kind="export_format", exported_by="by")
    return page_to_json(EXPORTS.fits(request.user, **criteria).page(**filters.place))


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
    choices = body.dict(exclude={"name"})
    types = BY_TASK if body.sample_types is None else tuple(body.sample_types)
    return count_export(Options(**choices | {"sample_types": types})).as_json()


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
    secret_access.check_download(export, name, by=request.user.username, is_admin=request.user.has_role("admin"))
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
    secret_access.check_download(export, None, by=request.user.username, is_admin=request.user.has_role("admin"))
    return zip_download.download_zip(export)


@router.post("/exports/{export_id}/verify", {202: JobOut}, 404, 409)
@needs("labeller")
def export_verify(request, export_id: str):
    """Compare every file of an export with what was written; returns the job.

    The job's result has each file with its state: `intact`, `changed`, `missing` or `unexpected`.
    """
    export = get_object_or_404(DatasetExport, id=export_id)
    return Status(202, start_verify(export, by=request.user.username))
