"""Exports: ask for one, see how far it is, download its files."""

from django.http import FileResponse, Http404
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status

from agents.decorators import needs
from agents.schemas import PageFilters, problems
from datasets import exports
from datasets.models import DatasetExport
from openclaw_web.paging import page_of

from .export_schemas import ExportDetail, ExportIn, ExportOut, ExportPage
from .exports import start

router = Router(tags=["exports"])


@router.get("/exports", response={200: ExportPage, **problems(409)})
@needs("viewer")
def export_list(request, filters: Query[PageFilters]):
    """All exports, the newest first."""
    rows = DatasetExport.objects.defer("manifest_json", "reasons_json")
    page = page_of(rows, order=("-exported_at", "-id"), after=filters.after, size=filters.limit)
    return {"items": page, "next": page.next}


@router.post("/exports", response={202: ExportOut, **problems(400, 409)})
@needs("labeller")
def export_create(request, wanted: ExportIn):
    """Ask for an export; a job builds it. Ask for it again to see its state."""
    return Status(202, start(by=request.user.username, **wanted.dict()))


@router.get("/exports/{export_id}", response={200: ExportDetail, **problems(404)})
@needs("viewer")
def export_detail(request, export_id: str):
    """One export: its state, what is in its files, or the rows in its way."""
    return get_object_or_404(DatasetExport, id=export_id)


@router.get(
    "/exports/{export_id}/files/{name}",
    response={200: None, **problems(404)},
    openapi_extra={"responses": {200: {"content": {"*/*": {}}}}},
)
@needs("viewer")
def export_file(request, export_id: str, name: str):
    """One file of a ready export: the files its manifest names, and `manifest.json`."""
    path = exports.file_of(get_object_or_404(DatasetExport, id=export_id), name)
    if path is None:
        raise Http404
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type=exports.content_type(name))
