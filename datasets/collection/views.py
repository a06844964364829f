"""Pages of collecting: strategies and runs, one run with its turns, other thresholds, and why a turn is no sample."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from jobs.notices import redirect_after_start
from ledger.models import ConversationTurn
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import redirect_after_post, render_page
from openclaw_web.pages.roles import needs

from ..models import CollectionRun, CollectionStrategy, TurnOutcome
from ..spot_checks.checks import read_state
from ..spot_checks.problems import STOP_WORDS
from . import job, runs, strategies, words
from . import what_if as comparison
from .classification import SIDES
from .forms import RunForm, StrategyForm, VersionForm
from .page import build_turn_context

VERSIONS = 20  # on the page
Outcome = TurnOutcome.Outcome


@require_safe
@needs("viewer")
def collection_list(request):
    """The runs, newest first, with the form of a new one and the newest versions of strategies."""
    return _render_runs(request, RunForm())


@require_POST
@needs("labeller")
def collection_start(request):
    """Queue a run."""
    form = RunForm(request.POST)
    if not form.is_valid():
        return _render_runs(request, form, status=422)
    try:
        run, started = job.start_run(by=request.user.username, **form.read_options())
    except Refused as refused:
        form.add_error(None, refused.sentence)
        return _render_runs(request, form, status=422)
    return redirect_after_start(request, started, to=run)


@require_safe
@needs("viewer")
def collection_run(request, run_id):
    """One run: its funnel, each number with the turns behind it."""
    run = get_object_or_404(CollectionRun.objects.select_related("strategy"), id=run_id)
    funnel = runs.build_funnel(run.counts)
    context = {
        "run": run,
        "funnel": funnel,
        "samples": "candidate" if run.is_dry else "sample",
        "reasons": [(name, words.OUTCOMES[name], count) for name, count in funnel["reasons"].items()],
        "options": run.options,
    }
    return render_page(request, "datasets/collection_run.html", context)


@require_safe
@needs("viewer")
def collection_turns(request, run_id, outcome):
    """The turns that a run put where they are, by one outcome."""
    run = get_object_or_404(CollectionRun, id=run_id)
    number = get_outcome(outcome)
    page = page_of(runs.find_turns(run, number), order=("id",), **read_cursors(request))
    context = {
        "run": run,
        "page": page,
        "title": words.OUTCOMES[outcome],
        "count": run.counts.get(outcome, 0),
        "is_whole": number == Outcome.OUTSIDE,
    }
    return render_page(request, "datasets/collection_turns.html", context)


def get_outcome(name: str) -> Outcome:
    """The outcome with this name. Raises Http404 for another name."""
    by_name = {outcome.label: outcome for outcome in Outcome}
    if name not in by_name:
        raise Http404
    return by_name[name]


@require_safe
@needs("viewer")
def what_if(request):
    """Other switches and thresholds: the sides of all turns, and those that would change."""
    return _render_what_if(request, VersionForm())


@require_POST
@needs("admin")
def what_if_save(request):
    """Store the next version of a strategy with these switches and thresholds."""
    names = VersionForm(request.POST)
    form = StrategyForm(request.POST, criteria=strategies.find_in_force().criteria)
    if names.is_valid() and form.is_valid():
        try:
            name, by = names.cleaned_data["name"], request.user.username
            strategy = strategies.save_version(form.read_changes(), by=by, name=name)
        except Refused as refused:
            names.add_error(None, refused.sentence)
        else:
            values = {"name": strategy.name, "version": strategy.version}
            message = _("Version %(version)s of the strategy “%(name)s” is in force.") % values
            return redirect_after_post(request, message, to=reverse("datasets:collection_list"))
    return _render_what_if(request, names, status=422)


@require_safe
@agent_view_for("viewer")
def turn_outcome(request, agent, session_id, number):
    """One turn: why it is a sample or is not, by the strategy in force."""
    turns = ConversationTurn.objects.using(agent.db).select_related("session")
    turn = get_object_or_404(turns, session_id=session_id, turn_number=number)
    context = {"agent": agent, "turn": turn, **build_turn_context(agent, turn)}
    return render_page(request, "datasets/turn_outcome.html", context)


def _render_runs(request, form, *, status=200):
    in_force = strategies.find_in_force()
    context = {
        "form": form,
        "page": page_of(CollectionRun.objects.select_related("strategy"), order=("-id",), **read_cursors(request)),
        "strategy": in_force,
        "versions": CollectionStrategy.objects.order_by("-id")[:VERSIONS],
        "may_collect": request.user.has_role("labeller"),
        "approval": read_state(),
        "stop_words": STOP_WORDS,
        "may_resume": request.user.has_role("admin"),
    }
    return render_page(request, "datasets/collection_list.html", context, status=status)


def _render_what_if(request, names, *, status=200):
    in_force = strategies.find_in_force()
    data = request.POST if request.method == "POST" else request.GET if "tried" in request.GET else None
    form, criteria, problem = StrategyForm(data, criteria=in_force.criteria), in_force.criteria, ""
    if form.is_valid():
        try:
            criteria = strategies.change_criteria(criteria, form.read_changes())
        except Refused as refused:
            problem = refused.sentence
    result = comparison.compare(in_force.criteria, criteria)
    counts = ((side, result.before[side], result.after[side]) for side in SIDES)
    context = {
        "form": form,
        "names": names,
        "strategy": in_force,
        "problem": problem,
        "sides": [(words.SIDES[side], words.SIDE_HELP[side], before, after) for side, before, after in counts],
        "result": result,
        "words": words,
        "may_save": request.user.has_role("admin"),
    }
    return render_page(request, "datasets/what_if.html", context, partial="sides", status=status)
