"""The lists of an agent: sessions, records, turns."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from openclaw_web.lists.answers import Words, answer_file, answer_page
from openclaw_web.lists.paging import places
from openclaw_web.pages.doors import needs

from . import listing
from . import markup as list_markup
from .filters import EventFilters, SessionFilters, TurnFilters

HOW = _("What this agent says and does appears here once its home has been collected.")
SESSIONS = Words(
    counted=ngettext_lazy("%(shown)s session of %(agent)s", "%(shown)s sessions of %(agent)s", "count"),
    uncounted=_("Sessions of %(agent)s"),
    none=_("No sessions yet"),
    how=HOW,
    command="openclaw-web collect",
    icon="chat-bubble-left-right",
)
EVENTS = replace(
    SESSIONS,
    counted=ngettext_lazy("%(shown)s record of %(agent)s", "%(shown)s records of %(agent)s", "count"),
    uncounted=_("Records of %(agent)s"),
    none=_("No records yet"),
)
TURNS = replace(
    SESSIONS,
    counted=ngettext_lazy("%(shown)s turn of %(agent)s", "%(shown)s turns of %(agent)s", "count"),
    uncounted=_("Turns of %(agent)s"),
    none=_("No turns yet"),
)


@require_safe
@agent_view
@needs("viewer")
def session_list(request, agent):
    """The sessions that fit the filters, the last active first; as a file with `format`."""
    filters = SessionFilters(request.GET).checked()
    found = filters.listing(agent.db)
    if filters.cleaned_data["format"]:
        return answer_file(
            request,
            filters,
            found.all.values(*list_markup.SESSION_FIELDS),
            on="sessions",
            order=found.order,
            columns=list_markup.SESSION_FIELDS,
            agent_id=agent.agent_id,
        )
    page = found.page(**places(request))
    return answer_page(
        request,
        "ledger/session_list.html",
        filters.offer(agent.db),
        found,
        page,
        on="sessions",
        words=SESSIONS,
        columns=list_markup.SESSION_COLUMNS,
        rows=list_markup.session_rows(page),
        agent=agent,
    )


@require_safe
@agent_view
@needs("viewer")
def event_list(request, agent):
    """The records that fit the filters, the newest first; as a file with `format`."""
    filters = EventFilters(request.GET).checked()
    found = filters.listing(agent.db)
    if filters.cleaned_data["format"]:
        return answer_file(
            request,
            filters,
            listing.event_rows(found.all),
            on="events",
            order=found.order,
            columns=list_markup.EVENT_FIELDS,
            shape=list_markup.event_shape,
            agent_id=agent.agent_id,
        )
    page = replace(found, rows=listing.event_rows(found.rows)).page(**places(request))
    return answer_page(
        request,
        "ledger/event_list.html",
        filters.offer(agent.db),
        found,
        page,
        on="events",
        words=EVENTS,
        columns=list_markup.EVENT_COLUMNS,
        rows=list_markup.event_rows(page, listing.titles(agent.db, page)),
        agent=agent,
    )


@require_safe
@agent_view
@needs("viewer")
def turn_list(request, agent):
    """The turns that fit the filters, the newest first; as a file with `format`."""
    filters = TurnFilters(request.GET).checked()
    found = filters.listing(agent.db)
    if filters.cleaned_data["format"]:
        return answer_file(
            request,
            filters,
            listing.turn_rows(found.all),
            on="turns",
            order=found.order,
            columns=list_markup.TURN_FIELDS,
            shape=list_markup.turn_shape,
            agent_id=agent.agent_id,
        )
    page = replace(found, rows=listing.turn_rows(found.rows)).page(**places(request))
    return answer_page(
        request,
        "ledger/turn_list.html",
        filters.offer(agent.db),
        found,
        page,
        on="turns",
        words=TURNS,
        columns=list_markup.TURN_COLUMNS,
        rows=list_markup.turn_rows(page, listing.titles(agent.db, page)),
        agent=agent,
    )
