"""The page of the report on the quality score."""

from django.views.decorators.http import require_safe

from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from ..quality.all_signals import BY_NAME
from . import evaluation
from .words import LEFT_OUT_WORDS, PART_WORDS, SCRIPT_WORDS, STATE_WORDS

TEMPLATE = "datasets/score_evaluation.html"


@require_safe
@needs("viewer")
def score_evaluation(request):
    """Show how well the quality score tells what people approve from what they reject."""
    figures = evaluation.evaluate_score(request.GET.get("agent", ""))
    context = {
        "report": figures,
        "most": evaluation.MOST,
        "least": evaluation.LEAST_VERDICTS,
        "least_of_class": evaluation.LEAST_OF_CLASS,
        "state_words": STATE_WORDS,
        "parts": [(PART_WORDS[part["name"]], part) for part in figures["parts"]],
        "scripts": [(SCRIPT_WORDS[script["name"]], script) for script in figures["scripts"]],
        "guidelines": [(guideline["name"], guideline) for guideline in figures["guidelines"]],
        "left_out": [(LEFT_OUT_WORDS[reason], count) for reason, count in figures["left_out"].items() if count],
        "questions": {name: signal.question for name, signal in BY_NAME.items()},
    }
    return render_page(request, TEMPLATE, context)


score_evaluation.takes_agent = True  # its address has the filter `agent`, as that of a list
