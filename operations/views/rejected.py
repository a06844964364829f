"""Rejected records: how many each agent has, and those of one agent."""

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from django.views.decorators.http import require_safe

from agents.decorators import needs
from agents.list_pages import Words, answer_file, answer_page
from agents.models import Agent
from openclaw_web.html import render_page
from openclaw_web.paging import places

from .. import list_markup, rejected
from ..list_filters import RejectedFilters

REJECTED = Words(
    counted=ngettext_lazy("%(shown)s rejected record of %(agent)s", "%(shown)s rejected records of %(agent)s", "count"),
    uncounted=_("Rejected records of %(agent)s"),
    none=_("Nothing of this agent was rejected"),
    how=_("A line of a transcript that is damaged or no record will be listed here, with its file and the reason."),
    icon="check-circle",
)


@require_safe
@needs("viewer")
def rejected_list(request):
    """Lines that hold no record: counts per agent, and with `agent` the lines; as a file with `format`."""
    filters = RejectedFilters(request.GET).checked()
    if not filters.cleaned_data["agent"]:
        return render_page(request, "operations/rejected_agents.html", {"agents": rejected.agents_with_some()})
    agent = get_object_or_404(Agent, agent_id=filters.cleaned_data["agent"])
    found = filters.listing(agent.db)
    if filters.cleaned_data["format"]:
        fields, about = list_markup.REJECTED_FIELDS, {"on": "rejected", "agent_id": agent.agent_id}
        return answer_file(request, filters, found.all.values(*fields), order=found.order, columns=fields, **about)
    page = found.page(**places(request))
    return answer_page(
        request,
        "operations/rejected_list.html",
        filters,
        found,
        page,
        on="rejected",
        words=REJECTED,
        columns=list_markup.REJECTED_COLUMNS,
        rows=list_markup.rejected_rows(agent, rejected.in_words(agent, page)),
        agent=agent,
    )
