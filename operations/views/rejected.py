"""Rejected records: how many each agent has, and those of one agent."""

from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from agents.decorators import needs
from agents.models import Agent
from openclaw_web.html import render_page

from .. import rejected


@require_safe
@needs("viewer")
def rejected_list(request):
    """Lines that hold no record: counts per agent, and with ?agent= the lines."""
    agent = get_object_or_404(Agent, agent_id=request.GET["agent"]) if request.GET.get("agent") else None
    context = {
        "agents": rejected.agents_with_some(),
        "agent": agent,
        "rows": rejected.page(agent, request.GET.get("after")) if agent else None,
    }
    return render_page(request, "operations/rejected_list.html", context)
