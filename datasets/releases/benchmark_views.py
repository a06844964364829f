"""Pages of benchmarks: the list with the upload, and the comparison of a release."""

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from jobs.notices import redirect_after_start
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import read_form, redirect_to, render_page
from openclaw_web.pages.roles import needs

from ..models import Benchmark
from . import contamination
from .contamination import add_benchmark, split_lines
from .forms import BenchmarkChoice, BenchmarkForm
from .views import find_version


@require_safe
@needs("viewer")
def benchmark_list(request):
    """The benchmarks, newest first, and the form for another one."""
    return _render_list(request, BenchmarkForm())


@require_POST
@needs("labeller")
def benchmark_add(request):
    """Store the word groups of an uploaded benchmark."""
    form = BenchmarkForm(request.POST, request.FILES)
    if form.is_valid():
        upload = form.cleaned_data["file"]
        try:
            add_benchmark(form.cleaned_data["name"], split_lines(upload), by=request.user.username)
        except Refused as refused:
            form.add_error(None, refused.sentence)
        else:
            return redirect_to(request, reverse("datasets:benchmark_list"))
    return _render_list(request, form, status=422)


@require_POST
@needs("labeller")
def version_compare(request, dataset_id, number):
    """Queue the comparison of a release with a benchmark; its job has the report."""
    version = find_version(dataset_id, number)
    fields = read_form(BenchmarkChoice(request.POST), _("Choose a benchmark to compare with."))
    benchmark = get_object_or_404(Benchmark, id=fields["benchmark"])
    return redirect_after_start(request, contamination.start_report(benchmark, version, by=request.user.username))


def _render_list(request, form, *, status=200):
    context = {
        "page": page_of(Benchmark.objects.defer("grams"), order=("-id",), **read_cursors(request)),
        "form": form,
        "may_release": request.user.has_role("labeller"),
    }
    return render_page(request, "datasets/benchmark_list.html", context, status=status)
