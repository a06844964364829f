"""Counts what an export would have, for the place beside its form."""

from dataclasses import fields

from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from openclaw_web.errors import Refused
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import words
from .builder.export_count import count_export
from .detail.preview import build_preview
from .forms import ExportForm
from .options import Options
from .views import render_list_page

OPTIONS = {field.name for field in fields(Options)}


class CountForm(ExportForm):
    """The same form before the export has a name."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["name"].required = False


@require_POST
@needs("labeller")
def export_count(request):
    """How many samples fit the form, for the place below it or as the page.

    With `preview`, the first rows too. Writes nothing.
    """
    form = CountForm(request.POST)
    fits = _count_fitting(form, has_preview="preview" in request.POST)
    if request.htmx:
        return render_page(request, "datasets/export_fits.html", {"fits": fits})
    return render_list_page(request, form, has_choices=True, fits=fits, status=200 if form.is_valid() else 422)


def _count_fitting(form, *, has_preview):
    """The counts for the chosen options as the page shows them, or the problem.

    `has_preview`: with the first rows.
    """
    if not form.is_valid():
        return {"problem": _("Correct the options above to count samples.")}
    choices = {name: value for name, value in form.read_choices().items() if name in OPTIONS}
    try:
        options = Options(**choices)
        result = count_export(options)
        preview = build_preview(options) if has_preview else None
    except Refused as refused:
        return {"problem": refused.sentence}
    chosen, known = choices["history"], words.HISTORY_WORDS
    histories = [(known[name], rows, name == chosen) for name, rows in result.histories.items()]
    dominant = words.describe_dominant_set(result.largest_set, result.set_counted) if result.has_dominant_set else ""
    counted = {"problem": "", "result": result, "histories": histories, "dominant_set": dominant}
    return counted | {"preview": preview, "kind": options.format}
