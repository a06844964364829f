"""A collect that somebody starts, and what it could not read."""

from django.conf import settings
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from agents.models import Agent
from jobs import services as jobs
from openclaw_web.lists.answers import Words, answer_file, answer_page
from openclaw_web.lists.paging import places
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, render_page

from . import markup, rejected
from .filters import RejectedFilters

REJECTED = Words(
    counted=ngettext_lazy("%(shown)s rejected record of %(agent)s", "%(shown)s rejected records of %(agent)s", "count"),
    uncounted=_("Rejected records of %(agent)s"),
    none=_("Nothing of this agent was rejected"),
    how=_("A line of a transcript that is damaged or no record will be listed here, with its file and the reason."),
    icon="check-circle",
)


@require_POST
@needs("operator")
def collect_start(request):
    """Queue a collect of the configured home; the page of the one that is under way, if there is one."""
    job = jobs.start("collect", {"source": str(settings.STATE_DIR)}, by=request.user.username)
    return after_post(request, gettext("The collect is under way."), to=job)


@require_safe
@needs("viewer")
def rejected_list(request):
    """Lines that hold no record: counts per agent, and with `agent` the lines; as a file with `format`."""
    filters = RejectedFilters(request.GET).checked()
    if not filters.cleaned_data["agent"]:
        return render_page(request, "collecting/rejected_agents.html", {"agents": rejected.agents_with_some()})
    agent = get_object_or_404(Agent, agent_id=filters.cleaned_data["agent"])
    found = filters.listing(agent.db)
    if filters.cleaned_data["format"]:
        fields, about = markup.REJECTED_FIELDS, {"on": "rejected", "agent_id": agent.agent_id}
        return answer_file(request, filters, found.all.values(*fields), order=found.order, columns=fields, **about)
    page = found.page(**places(request))
    return answer_page(
        request,
        "collecting/rejected_list.html",
        filters,
        found,
        page,
        on="rejected",
        words=REJECTED,
        columns=markup.REJECTED_COLUMNS,
        rows=markup.rejected_rows(agent, rejected.in_words(agent, page)),
        agent=agent,
    )
