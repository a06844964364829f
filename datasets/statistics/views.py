"""The page of statistics of samples."""

from django.views.decorators.http import require_safe

from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import figures, page_context
from .forms import StatisticsForm

TEMPLATE = "datasets/statistics.html"


@require_safe
@needs("viewer")
def statistics(request):
    """Show samples and verdicts by day, type, status, score and person."""
    period = StatisticsForm(request.GET).read_period()
    context = page_context.build_page_context(figures.read_statistics(period))
    return render_page(request, TEMPLATE, context)
