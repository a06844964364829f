"""Pages of datasets: the list with the form, one dataset, one release with its members."""

from django.http import Http404, QueryDict
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from jobs import services as jobs
from jobs.notices import redirect_after_start
from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import redirect_to, render_page, stop_polling
from openclaw_web.pages.roles import needs

from ..exports.plan import SIDES
from ..exports.views import count_fitting
from ..exports.words import page_left_out
from ..models import Dataset, DatasetExport, DatasetVersion, ReleaseSeal, VersionTaint
from . import taints, verification, words
from .dataset_list import DATASETS, DatasetFilters
from .dataset_store import create_dataset
from .differences import KINDS, list_samples
from .forms import BenchmarkChoice, DatasetForm, ReleaseForm
from .release import JOB_KIND, start_release

EXPORTS = 50  # of a release on its page


@require_safe
@needs("viewer")
@shows(DATASETS)
def dataset_list(request):
    """The datasets that match the filters, newest first, and the form for a new one."""
    initial = DatasetForm.read_initial(request.GET) if "sample_filter" in request.GET else {}
    return _render_list(request, DatasetForm(initial=initial))


@require_POST
@needs("labeller")
def dataset_create(request):
    """Create a dataset and go to its page. With `count`, only count the samples, as the page or for its part."""
    form = DatasetForm(request.POST)
    if "count" in request.POST:
        fits = count_fitting(request.user, form)
        if request.htmx:
            return render_page(request, "datasets/export_fits.html", {"fits": fits})
        return _render_list(request, form, fits=fits, status=200 if form.is_valid() else 422)
    if form.is_valid():
        name, description = form.cleaned_data["name"], form.cleaned_data["description"]
        try:
            dataset = create_dataset(
                name, description=description, options=form.read_options(), by=request.user.username
            )
        except Refused as refused:
            form.add_error(None, refused.sentence)
        else:
            return redirect_to(request, dataset)
    return _render_list(request, form, status=422)


@require_safe
@needs("viewer")
def dataset_detail(request, dataset_id):
    """One dataset: its options and its releases."""
    dataset = get_object_or_404(Dataset, id=dataset_id)
    unfinished = dataset.versions.filter(state=DatasetVersion.State.BUILDING).first()
    released = dataset.versions.filter(state=DatasetVersion.State.RELEASED)
    job = jobs.find_last(JOB_KIND, {"version_id": unfinished.id}) if unfinished else None
    is_working = job is not None and not job.has_ended
    context = {
        "dataset": dataset,
        "options": words.describe_options(dataset.options),
        "page": page_of(released, order=("-number",), **read_cursors(request)),
        "unfinished": unfinished,
        "job": job,
        "is_working": is_working,
        "form": ReleaseForm(),
        "may_release": request.user.has_role("labeller"),
    }
    response = render_page(request, "datasets/dataset_detail.html", context, partial="releases")
    return response if is_working or not request.htmx else stop_polling(response)


@require_POST
@needs("labeller")
def dataset_release(request, dataset_id):
    """Queue the job that releases the next version."""
    dataset = get_object_or_404(Dataset, id=dataset_id)
    form = ReleaseForm(request.POST)
    if not form.is_valid():
        raise Refused(" ".join(str(error) for errors in form.errors.values() for error in errors))
    job = start_release(dataset, by=request.user.username, notes=form.cleaned_data["notes"])
    return redirect_after_start(request, job, to=dataset)


@require_safe
@needs("viewer")
def version_detail(request, dataset_id, number):
    """One release: counts, differences, exports, taints, and who has its files."""
    version = find_version(dataset_id, number)
    about_version = {"version_id": version.id}
    last_verification = jobs.find_last(verification.JOB_KIND, about_version)
    check = jobs.find_last(taints.JOB_KIND, about_version)
    is_working = any(job is not None and not job.has_ended for job in (last_verification, check))
    excluded = page_left_out(version.counts.get("excluded", []), request.GET)
    compared = words.describe_compared(last_verification.result if last_verification else None)
    named = [*(sample for group in excluded for sample in group["listed"]), *(sample for _kind, sample in compared)]
    exports = DatasetExport.objects.filter(version_id=version.id).order_by("-exported_at", "-id")
    released = version.dataset.versions.filter(state=DatasetVersion.State.RELEASED)
    context = {
        "version": version,
        "seal": ReleaseSeal.objects.defer("contents").filter(version=version).first(),
        "dataset": version.dataset,
        "sides": [(side, words.SIDES[side], version.counts.get("sides", {}).get(side, 0)) for side in SIDES],
        "difference": words.describe_difference(version.counts.get("difference")),
        "excluded": excluded,
        "names": words.name_samples(filter(None, named)),
        "exports": exports.defer("manifest_json", "places_json", "difference_json")[:EXPORTS],
        "taints": [(reason, words.TAINTS[reason], count) for reason, count in taints.count_taints(version).items()],
        "downloads": taints.list_downloads(version),
        "verification": last_verification,
        "compared": compared,
        "rules": [(words.RULES.get(name, name), number) for name, number in version.rules.items()],
        "beside": list(released.filter(number__in=(version.number - 1, version.number + 1)).order_by("number")),
        "check": check,
        "is_working": is_working,
        "choice": BenchmarkChoice(),
        "export_query": {"release": version.id, "task": version.options.get("task", "reply")},
        "may_release": request.user.has_role("labeller"),
        "may_remake": request.user.has_role("admin"),
    }
    response = render_page(request, "datasets/version_detail.html", context, partial="release")
    return response if is_working or not request.htmx else stop_polling(response)


@require_safe
@needs("viewer")
def version_of(request, version_id):
    """Redirect to a release by its id."""
    released = DatasetVersion.State.RELEASED
    return redirect_to(request, get_object_or_404(DatasetVersion, id=version_id, state=released))


@require_safe
@needs("viewer")
def member_list(request, dataset_id, number):
    """The members of a release, all or of one side."""
    version = find_version(dataset_id, number)
    side = request.GET.get("side", "")
    members = version.members.filter(side=side) if side in SIDES else version.members.all()
    page = page_of(members, order=("id",), **read_cursors(request))
    context = {
        "version": version,
        "dataset": version.dataset,
        "page": page,
        "names": words.name_samples(member.sample_id for member in page),
        "sessions": words.read_sessions(page),
        "tabs": words.build_side_tabs(version, side),
    }
    return render_page(request, "datasets/member_list.html", context)


@require_safe
@needs("viewer")
def taint_list(request, dataset_id, number):
    """The members of a release that should not be used any more, with the reasons."""
    version = find_version(dataset_id, number)
    reason = request.GET.get("reason", "")
    rows = VersionTaint.objects.filter(version=version, **({"reason": reason} if reason in words.TAINTS else {}))
    page = page_of(rows, order=("sample_id", "reason"), **read_cursors(request))
    context = {
        "version": version,
        "dataset": version.dataset,
        "page": page,
        "rows": [(taint.sample_id, words.TAINTS[taint.reason], taint.noted_at) for taint in page],
        "names": words.name_samples(taint.sample_id for taint in page),
        "title": words.TAINTS.get(reason, words.TAINTED),
    }
    return render_page(request, "datasets/taint_list.html", context)


@require_safe
@needs("viewer")
def difference_list(request, dataset_id, number, kind):
    """The samples with one kind of difference from the release before."""
    version = find_version(dataset_id, number)
    if kind not in KINDS:
        raise Http404
    page, searched = list_samples(version, kind, after=request.GET.get("after", ""))
    context = {
        "version": version,
        "dataset": version.dataset,
        "page": page,
        "rows": [(sample_id, None, None) for sample_id in page],
        "names": words.name_samples(page),
        "title": words.DIFFERENCES[kind],
        "window": searched,
    }
    return render_page(request, "datasets/difference_list.html", context)


@require_POST
@needs("labeller")
def version_verify(request, dataset_id, number):
    """Queue the comparison of a release with what was released."""
    version = find_version(dataset_id, number)
    return redirect_after_start(request, verification.start_verify(version, by=request.user.username), to=version)


@require_POST
@needs("admin")
def version_anew(request, dataset_id, number):
    """Queue the release of the next version with the members of a release that was changed."""
    dataset = find_version(dataset_id, number).dataset
    return redirect_after_start(
        request, start_release(dataset, by=request.user.username, remade_from=number), to=dataset
    )


@require_POST
@needs("labeller")
def version_check(request, dataset_id, number):
    """Queue the search for members that should not be used any more."""
    version = find_version(dataset_id, number)
    return redirect_after_start(request, taints.start_check(version, by=request.user.username), to=version)


def _render_list(request, form, *, fits=None, status=200):
    return render_list(
        request,
        "datasets/dataset_list.html",
        DATASETS,
        filters=DatasetFilters(QueryDict() if form.is_bound or form.initial else request.GET).validate(),
        form=form,
        fits=fits,
        may_release=request.user.has_role("labeller"),
        status=status,
    )


def find_version(dataset_id: str, number: int) -> DatasetVersion:
    """The release with this number, with its dataset. Raises Http404 when there is none."""
    released = DatasetVersion.objects.filter(state=DatasetVersion.State.RELEASED).select_related("dataset")
    return get_object_or_404(released, dataset_id=dataset_id, number=number)
