"""The page of regression sets: people's verdicts on decisions and writes, and tests of models with them."""

from dataclasses import replace
from functools import partial

from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from agents.runners.pages import start_run
from gate.models import GateReplay
from gate.replays import comparison, regression_sets
from gate.replays.forms import ModelForm
from gate.replays.regression_sets import GATE, GUARDIAN, PARTS
from openclaw_web.errors import Refused
from openclaw_web.pages.html import redirect_after_post, refuse_post, render_page

from ..models import GuardianTest
from . import regressions
from .llm import prompts
from .llm.config import RUNNER, get_configured_guardian

SHOWN = 5  # versions, replays and tests, of each the newest
PAGE = replace(RUNNER, page="guardian:regression_list")


@require_safe
@agent_view_for("viewer")
def regression_list(request, agent):
    """Show the versions of both regression sets with the latest results, and the form of a test with writes."""
    initial = {"new_model": get_configured_guardian().model, "new_prompt": prompts.TEXT}
    return _render(request, agent, ModelForm(initial=initial))


@require_POST
@agent_view_for("operator")
def regression_store(request, agent):
    """Store the verdicts in force as a version of a regression set."""
    part = GATE if request.POST.get("part") == GATE else GUARDIAN
    read_cases = regression_sets.read_right_decisions if part == GATE else regressions.read_cases
    try:
        row = regression_sets.choose_set(agent, part, read_cases(agent), by=request.user.username)
    except Refused as refusal:
        return refuse_post(request, refusal, to=PAGE.address(agent))
    sentence = _("The verdicts in force are version %(number)s.") % {"number": row.number}
    return redirect_after_post(request, sentence, to=PAGE.address(agent))


@require_POST
@agent_view_for("operator")
def regression_start(request, agent):
    """Queue a test with the newest version of the regression set for writes."""
    form, newest = ModelForm(request.POST), regression_sets.find_sets(agent.db, GUARDIAN).first()
    if newest is None:
        return refuse_post(
            request, Refused(_("Store the verdicts in force as a version first.")), to=PAGE.address(agent)
        )
    if not form.is_valid():
        return _render(request, agent, form)
    guardian = regressions.build_guardian(form.cleaned_data["new_model"], form.cleaned_data["new_prompt"])
    start = partial(regressions.start_test, agent, newest, guardian, by=request.user.username)
    return start_run(request, PAGE, agent, start)


def _render(request, agent, form):
    replays = GateReplay.objects.using(agent.db).filter(filters_json__contains='"set":').order_by("-id")
    tests = GuardianTest.objects.using(agent.db).order_by("-id")
    context = {
        "agent": agent,
        "form": form,
        "host": get_configured_guardian().endpoint.host,
        "sets": {part: regression_sets.find_sets(agent.db, part)[:SHOWN] for part in PARTS},
        "replays": [(row, comparison.compare_replay(agent.db, row)) for row in replays[:SHOWN]],
        "tests": [(row, regressions.compare(agent.db, row)) for row in tests[:SHOWN]],
    }
    return render_page(request, "guardian/regression_list.html", context, status=422 if form.errors else 200)
