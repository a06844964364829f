"""The lists of the gate: decisions, and calls of models."""

from django.views.decorators.http import require_safe

from agents.all_agents import read_all_agents
from agents.decorators import agent_view_for
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list

from .call_list import CALLS
from .decision_list import DECISIONS


@require_safe
@agent_view_for("viewer", of_all=True)
@shows(DECISIONS)
def decision_list(request, agent):
    """The decisions that fit the filters, the newest first; as a file with `format`."""
    return render_list(request, "gate/decision_list.html", DECISIONS, agent=agent or read_all_agents())


@require_safe
@agent_view_for("viewer", of_all=True)
@shows(CALLS)
def call_list(request, agent):
    """The calls that fit the filters, the newest first; as a file with `format`."""
    return render_list(request, "gate/call_list.html", CALLS, agent=agent or read_all_agents())
