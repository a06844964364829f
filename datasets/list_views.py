"""The list of samples."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from django.views.decorators.http import require_safe

from openclaw_web.lists.answers import Words, answer_file, answer_page
from openclaw_web.lists.paging import places
from openclaw_web.pages.doors import needs

from . import list_markup, sample_lists
from .forms import SampleFilters
from .models import DatasetSample

SAMPLES = Words(
    counted=ngettext_lazy("%(shown)s sample", "%(shown)s samples", "count"),
    uncounted=_("Samples"),
    none=_("There are no samples yet"),
    how=_("A sample is one turn of a conversation that somebody judges before it is learnt from. Open a session, pick turns, and press “Make samples”."),  # noqa: E501
    icon="check-badge",
)  # fmt: skip


@require_safe
@needs("viewer")
def sample_list(request):
    """The samples that fit the filters, newest first; as a file with `format`."""
    form = SampleFilters(request.GET).checked()
    found = form.listing(DatasetSample.objects.all())
    if form.cleaned_data["format"]:
        fields = list_markup.SAMPLE_FIELDS
        rows = found.all.for_reading().values(*fields)
        return answer_file(request, form, rows, on="samples", order=found.order, columns=fields)
    page = replace(found, rows=found.rows.for_reading()).page(**places(request))
    filters = form.filters()
    return answer_page(
        request,
        "datasets/sample_list.html",
        form,
        found,
        page,
        on="samples",
        words=SAMPLES,
        columns=list_markup.SAMPLE_COLUMNS,
        rows=list_markup.sample_rows(sample_lists.in_words(page, filters)),
        chosen=filters,
        tabs=_tabs(form, filters),
        tabs_label=_("Status"),
    )


def _tabs(form, filters):
    """A tab for each status; their numbers only when they would be those of the list."""
    counted = all(name in sample_lists.Filters.NAMES for name in form.chosen)
    return [
        {
            "label": tab.label,
            "amount": tab.amount if counted else None,
            "href": form.query_with(status=status or None) or "?",
            "is_current": tab.is_current,
        }
        for status, tab in zip(("", *DatasetSample.Status.values), sample_lists.tabs(filters), strict=True)
    ]
