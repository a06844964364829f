"""API of datasets: create, release, compare, verify, and find where a sample went."""

from io import BytesIO
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Query, Status

from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs

from ..models import Benchmark, Dataset, DatasetExport, DatasetSample, DatasetVersion, ReleaseSeal
from . import contamination, lineage, taints, verification
from .contamination import add_benchmark, split_lines
from .dataset_list import DATASETS
from .dataset_store import create_dataset
from .differences import find_difference
from .release import start_release
from .schemas import (
    BenchmarkIn,
    BenchmarkOut,
    DatasetDetail,
    DatasetIn,
    DatasetOut,
    DatasetQuery,
    DifferenceOut,
    MemberOut,
    MemberQuery,
    ReleaseIn,
    ReportIn,
    UsesOut,
    VersionDetail,
    VersionOut,
)
from .views import find_version

router = Operations("datasets_releases_api", tags=["datasets"])


@router.get("/datasets", Page[DatasetOut], 409)
@needs("viewer")
def dataset_list(request, filters: Query[DatasetQuery]):
    """All datasets, newest first."""
    return page_to_json(DATASETS.fits(request.user, **filters.criteria()).page(**filters.place))


@router.post("/datasets", {201: DatasetDetail}, 400, 409)
@needs("labeller")
def dataset_create(request, body: DatasetIn):
    """Create a dataset, without releases."""
    options = body.options.dict()
    dataset = create_dataset(body.name, description=body.description, options=options, by=request.user.username)
    return Status(201, dataset)


@router.get("/datasets/{dataset_id}", DatasetDetail, 404)
@needs("viewer")
def dataset_detail(request, dataset_id: str):
    """One dataset with its options and releases."""
    return get_object_or_404(Dataset, id=dataset_id)


@router.post("/datasets/{dataset_id}/versions", {202: JobOut}, 400, 404, 409)
@needs("labeller")
def dataset_release(request, dataset_id: str, body: ReleaseIn):
    """Release the next version; returns the job.

    Its result has the id and the number of the version.
    """
    dataset = get_object_or_404(Dataset, id=dataset_id)
    return Status(202, start_release(dataset, by=request.user.username, notes=body.notes))


@router.get("/datasets/{dataset_id}/versions/{number}", VersionDetail, 404)
@needs("viewer")
def version_detail(request, dataset_id: str, number: int):
    """One release: its numbers, its exports, its taints, and who downloaded it."""
    version = find_version(dataset_id, number)
    exports = DatasetExport.objects.filter(version_id=version.id).order_by("-exported_at", "-id")
    return {
        **{name: getattr(version, name) for name in ("options", *VersionOut.model_fields)},
        "seal": ReleaseSeal.objects.defer("contents").filter(version=version).first(),
        "taints": taints.count_taints(version),
        "downloads": taints.list_downloads(version),
        "exports": list(exports.values_list("id", flat=True)[:200]),
    }


@router.get("/datasets/{dataset_id}/versions/{number}/members", Page[MemberOut], 404, 409)
@needs("viewer")
def member_list(request, dataset_id: str, number: int, filters: Query[MemberQuery]):
    """The members of a release, in the order in which they were added."""
    members = find_version(dataset_id, number).members.all()
    if filters.side:
        members = members.filter(side=filters.side)
    return page_to_json(page_of(members, order=("id",), **filters.place))


@router.get("/datasets/{dataset_id}/versions/{number}/difference", DifferenceOut, 404, 409)
@needs("viewer")
def version_difference(request, dataset_id: str, number: int, other: int | None = None):
    """The differences to this release from another one; without `other`, from the one before.

    Each kind has its count and the first 20 samples.
    """
    version = find_version(dataset_id, number)
    difference = find_difference(version, other)
    return {**difference, "before": difference["from"]["number"], "after": difference["to"]["number"]}


@router.post("/datasets/{dataset_id}/versions/{number}/verify", {202: JobOut}, 404, 409)
@needs("labeller")
def version_verify(request, dataset_id: str, number: int):
    """Compare a release with its seal, its samples and its sides.

    Returns the job, whose result has the report.
    """
    return Status(202, verification.start_verify(find_version(dataset_id, number), by=request.user.username))


@router.post("/datasets/{dataset_id}/versions/{number}/anew", {202: JobOut}, 400, 404, 409)
@needs("admin")
def version_anew(request, dataset_id: str, number: int, body: ReleaseIn):
    """Release the next version with the members of a release that was changed, as they are now; returns the job."""
    dataset, by = find_version(dataset_id, number).dataset, request.user.username
    return Status(202, start_release(dataset, by=by, notes=body.notes, remade_from=number))


@router.post("/datasets/{dataset_id}/versions/{number}/check", {202: JobOut}, 404, 409)
@needs("labeller")
def version_check(request, dataset_id: str, number: int):
    """Look for members that were removed, opted out, rolled back or rejected since; returns the job."""
    return Status(202, taints.start_check(find_version(dataset_id, number), by=request.user.username))


@router.get("/samples/{sample_id}/uses", UsesOut, 404)
@needs("viewer")
def sample_uses(request, sample_id: str):
    """The releases and the rows of exports that have a sample."""
    if not DatasetSample.objects.filter(id=sample_id).exists() and not lineage.find_members(sample_id):
        raise Http404
    return lineage.describe_sample(sample_id)


@router.get("/benchmarks", Page[BenchmarkOut], 409)
@needs("viewer")
def benchmark_list(request, filters: Query[PageQuery]):
    """All benchmarks, without their texts."""
    return page_to_json(page_of(Benchmark.objects.defer("grams"), order=("-id",), **filters.place))


@router.post("/benchmarks", {201: BenchmarkOut}, 400, 409)
@needs("labeller")
def benchmark_create(request, body: BenchmarkIn):
    """Store the word groups of a benchmark; nothing is stored when a line is no JSON."""
    lines = split_lines(BytesIO(body.text.encode(errors="surrogatepass")))
    return Status(201, add_benchmark(body.name, lines, by=request.user.username))


@router.post("/benchmarks/{benchmark_id}/report", {202: JobOut}, 400, 404, 409)
@needs("labeller")
def benchmark_report(request, benchmark_id: str, body: ReportIn):
    """Compare a dataset, a release or an export with a benchmark.

    Returns the job, whose result is the report.
    """
    benchmark = get_object_or_404(Benchmark, id=benchmark_id)
    models: dict[str, Any] = {"dataset_id": Dataset, "version_id": DatasetVersion, "export_id": DatasetExport}
    chosen = {name: value for name, value in body.dict().items() if value}
    if len(chosen) != 1:
        raise Refused(_("Choose a dataset, a release or an export to compare, and only one of them."))
    [(name, subject_id)] = chosen.items()
    subject = get_object_or_404(models[name], id=subject_id)
    return Status(202, contamination.start_report(benchmark, subject, by=request.user.username))
