"""Pages of coverage: shares with gaps and prices, the samples to judge next, and their queue."""

from urllib.parse import urlencode

from django import forms
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from ulid import ULID

from openclaw_web import clock
from openclaw_web.lists import filter_line
from openclaw_web.pages.html import read_form, redirect_after_post, render_page
from openclaw_web.pages.roles import needs
from people.audit import log as audit

from ..exports.options import LONGEST_NAME, TASKS
from ..models import DatasetSample, ReviewDraw
from ..releases.words import name_samples
from ..review.queues import NEXT, Queue
from . import words
from .prices import MOST_PRICED, read_prices
from .shares import DIMENSIONS, Bucket, Scope, build_scope, choose_next, measure

NEXT_COUNT = 100


class ScopeForm(forms.Form):
    """The samples that a page measures, from its address."""

    dataset = forms.CharField(max_length=LONGEST_NAME, required=False)
    number = forms.IntegerField(min_value=1, required=False)
    task = forms.ChoiceField(choices=TASKS.choices, required=False)
    sample_filter = forms.CharField(max_length=filter_line.LONGEST, required=False)
    gap = forms.RegexField(rf"^({'|'.join(DIMENSIONS)}):", max_length=200, required=False)

    def read_scope(self) -> tuple[Scope, str, tuple[str, str] | None]:
        """The scope, its address and the gap. Raises Refused for an address that names none."""
        fields = read_form(self, _("This address names no dataset. Start again from the list of datasets."))
        dimension, is_gap, name = fields.pop("gap").partition(":")
        chosen = {name: value for name, value in fields.items() if value}
        return build_scope(**chosen), urlencode(chosen), (dimension, name) if is_gap else None


@require_safe
@needs("viewer")
def dataset_coverage(request):
    """The shares of a dataset, a release or a filter beside the traffic of its agents, and the price of a row."""
    scope, query, _gap = ScopeForm(request.GET).read_scope()
    coverage = measure(scope)
    rows = [
        (bucket, words.describe_bucket(bucket), bucket.is_gap and words.build_gap_address(bucket, coverage, query))
        for bucket in coverage.list_buckets()
    ]
    context = {
        "scope": scope,
        "query": query,
        "coverage": coverage,
        "prices": read_prices(scope.find_samples()) if coverage.sample_count <= MOST_PRICED else None,
        "most_priced": MOST_PRICED,
        "gaps": [row for row in rows if row[0].is_gap],
        "groups": [(name, [row for row in rows if row[0].dimension == name]) for name in DIMENSIONS],
        "words": words.DIMENSION_WORDS,
    }
    return render_page(request, "datasets/dataset_coverage.html", context, partial="price")


@require_safe
@needs("viewer")
def dataset_next(request):
    """The hundred waiting samples that fill gaps best, or those of one bucket, each with its reason."""
    scope, query, gap, picks = _choose(request.GET)
    samples = DatasetSample.objects.in_bulk([sample_id for sample_id, _bucket in picks])
    context = {
        "scope": scope,
        "query": query,
        "gap": gap,
        "gap_label": words.describe_bucket(Bucket(*gap, 0, 0.0, None)) if gap else "",
        "rows": [(samples[name], words.describe_reason(bucket)) for name, bucket in picks if name in samples],
        "names": name_samples(samples),
        "may_label": request.user.has_role("labeller"),
    }
    return render_page(request, "datasets/dataset_next.html", context)


@require_POST
@needs("labeller")
def next_queue(request):
    """Put the samples that fill gaps best into a queue of their own."""
    *_scope, picks = _choose(request.GET)
    name, ids = f"{NEXT}{ULID()}", [sample_id for sample_id, _bucket in picks]
    with transaction.atomic():
        ReviewDraw.objects.create(
            id=name, agent_id="", drawn_by=request.user.username, drawn_at=clock.now_ms(), samples=ids
        )
        audit.record(request.user.username, "next_queued", samples=len(ids), draw=name)
    sentence = ngettext("%(count)s sample is in this queue.", "%(count)s samples are in this queue.", len(picks))
    return redirect_after_post(request, sentence % {"count": len(picks)}, to=Queue(draw=name).address())


def _choose(values):
    scope, query, gap = ScopeForm(values).read_scope()
    return scope, query, gap, choose_next(scope, measure(scope), NEXT_COUNT, gap)
