"""Pages for one verdict on every sample of a list: the preview, then the action."""

from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.errors import Refused
from openclaw_web.pages.html import redirect_after_post, refuse_post, render_page
from openclaw_web.pages.roles import needs

from ..forms import BulkForm
from ..sample_list import SAMPLES, SampleFilters, build_rows
from ..words import STATUS_WORDS
from . import bulk


@require_safe
@needs("labeller")
def samples_bulk(request):
    """The preview of a verdict on a list: the count, the filters, the first samples."""
    filters = SampleFilters(request.GET).validate()
    scope, verdict = _read_scope(request, filters), request.GET.get("verdict", "")
    if verdict not in bulk.VERDICTS or scope.status == verdict:
        raise Refused(_("Bulk review can only approve or reject. Choose from the list of samples."))
    plan = bulk.plan_bulk(scope, by=request.user.username)
    context = {
        "filters": filters,
        "scope": scope,
        "verdict": verdict,
        "verdict_word": STATUS_WORDS[verdict],
        "plan": plan,
        "rows": build_rows(plan.first, filters.read_filters()),
        "most": bulk.MOST,
        "form": BulkForm(),
    }
    return render_page(request, "datasets/samples_bulk.html", context)


@require_POST
@needs("labeller")
def samples_bulk_label(request):
    """Give the verdict to exactly as many samples as the preview showed."""
    filters, form = SampleFilters(request.GET).validate(), BulkForm(request.POST)
    back = reverse("datasets:sample_list") + filters.query
    if not form.is_valid():
        return refuse_post(request, Refused(_("Nothing was changed. Choose again.")), to=back)
    try:
        result = bulk.label_all(_read_scope(request, filters), by=request.user.username, **form.cleaned_data)
    except Refused as refused:
        again = filters.query_with(verdict=form.cleaned_data["status"])
        return refuse_post(request, refused, to=reverse("datasets:samples_bulk") + again)
    sentence = _("%(done)s A single “Undo” in Review undoes all of them.") % {"done": result.sentence}
    return redirect_after_post(request, sentence, to=back)


def _read_scope(request, filters):
    rows, plain = SAMPLES.fits(request.user, **filters.criteria).all, filters.read_filters()
    return bulk.Scope(rows, plain.status, plain.agent, filters.query)
