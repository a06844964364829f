"""Pages of a decision, a call and a prompt version, and a session's decisions."""

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from ledger.models import ConversationTurn
from ledger.session.session_forms import TurnNumbersForm
from openclaw_web.lists.neighbours import find_list_neighbours, read_list_filters
from openclaw_web.pages.html import render_page

from .. import decisions
from ..lists.decision_list import DECISIONS, DecisionFilters
from ..models import GateCall, MemoryGateDecision
from . import page, prompt_versions
from .forms import PromptForm


@require_safe
@agent_view_for("viewer")
def decision_detail(request, agent, decision_id):
    """Show one decision.

    The links keep the filters of the list.
    """
    row = get_object_or_404(MemoryGateDecision.objects.using(agent.db).placed(), id=decision_id)
    filters = read_list_filters(DecisionFilters, request.GET)
    context = {
        "agent": agent,
        "filters": filters,
        "in_list": find_list_neighbours(DECISIONS, agent, row, filters),
        "in_session": page.find_session_neighbours(agent, row),
        **page.build_decision_context(agent, row, is_operator=request.user.has_role("operator")),
    }
    return render_page(request, "gate/decision_detail.html", context)


@require_safe
@agent_view_for("viewer")
def call_detail(request, agent, call_id):
    """Show one call of a model, and its response to operators."""
    row = get_object_or_404(GateCall.objects.using(agent.db), id=call_id)
    context = {"agent": agent, **page.build_call_context(agent, row, is_operator=request.user.has_role("operator"))}
    return render_page(request, "gate/call_detail.html", context)


@require_safe
@agent_view_for("viewer")
def prompt_detail(request, agent, prompt_id):
    """Show one version of a prompt, and the changes since another one."""
    prompt = prompt_versions.find_prompt(agent, prompt_id)
    if prompt is None:
        raise Http404
    context = {
        "agent": agent,
        **prompt_versions.build_prompt_context(agent, prompt, **PromptForm(request.GET).read_options()),
    }
    return render_page(request, "gate/prompt_detail.html", context)


@require_safe
@agent_view_for("viewer")
def session_decisions(request, agent, session_id):
    """Return the decisions on the turns of a session's page (HTMX, out of band).

    Each has the place beside its turn.
    """
    numbers = TurnNumbersForm(request.GET).read_numbers()
    turns = ConversationTurn.objects.using(agent.db).filter(session_id=session_id, turn_number__in=numbers)
    ids = dict(turns.values_list("id", "turn_number"))
    decision_by_turn = decisions.find_by_turn(agent.db, list(ids))
    context = {"agent": agent, "rows": [(ids[turn_id], row) for turn_id, row in decision_by_turn.items()]}
    return render(request, "gate/session_decisions.html", context)
