"""What an export would hold, beside the form for it."""

from dataclasses import fields

from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from openclaw_web.errors import Refused
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from .. import words
from ..builder.export_count import count_export
from ..forms import ExportForm
from ..options import Options
from ..views import render_list_page

OPTIONS = {field.name for field in fields(Options)}


class CountForm(ExportForm):
    """The same form before anybody named the export."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["name"].required = False


@require_POST
@needs("labeller")
def export_count(request):
    """How many samples fit the form: for the place below it, or as the page with the form. Writes nothing."""
    form = CountForm(request.POST)
    fits = _fits(form)
    if request.htmx:
        return render_page(request, "datasets/export_fits.html", {"fits": fits})
    return render_list_page(request, form, has_choices=True, fits=fits, status=200 if form.is_valid() else 422)


def _fits(form):
    """What the chosen options come to as the page says it, or why they come to nothing."""
    if not form.is_valid():
        return {"problem": _("Correct the options above to count samples.")}
    choices = {name: value for name, value in form.choices().items() if name in OPTIONS}
    try:
        found = count_export(Options(**choices))
    except Refused as refused:
        return {"problem": refused.sentence}
    chosen, known = choices["history"], words.HISTORY_WORDS
    histories = [(known[name], rows, name == chosen) for name, rows in found.histories.items()]
    dominant = words.describe_dominant_set(found.largest_set, found.set_counted) if found.has_dominant_set else ""
    return {"problem": "", "found": found, "histories": histories, "dominant_set": dominant}
