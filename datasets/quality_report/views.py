"""The page of the report on the quality score."""

from django.views.decorators.http import require_safe

from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from ..quality.all_signals import BY_NAME
from . import report
from .words import LEFT_OUT_WORDS, PART_WORDS, STATE_WORDS

TEMPLATE = "datasets/quality_report.html"


@require_safe
@needs("viewer")
def quality_report(request):
    """Show how well the quality score tells what people approve from what they reject."""
    figures = report.build_report(request.GET.get("agent", ""))
    context = {
        "report": figures,
        "most": report.MOST,
        "least": report.LEAST_VERDICTS,
        "least_of_class": report.LEAST_OF_CLASS,
        "state_words": STATE_WORDS,
        "parts": [(PART_WORDS[part["name"]], part) for part in figures["parts"]],
        "scripts": [(script["name"], script) for script in figures["scripts"]],
        "left_out": [(LEFT_OUT_WORDS[reason], count) for reason, count in figures["left_out"].items() if count],
        "questions": {name: signal.question for name, signal in BY_NAME.items()},
    }
    return render_page(request, TEMPLATE, context)


quality_report.takes_agent = True  # its address has the filter `agent`, as that of a list
