"""Lists of an agent in the API: sessions, records, turns and rejected lines."""

from dataclasses import replace

from ninja import Query

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.pages.roles import needs

from ..errors.error_list import ERRORS, read_agents, read_values
from ..session.api import BUDGET_BYTES, PAYLOAD_COLUMNS, annotate_payloads, count_event_bytes, count_turn_bytes
from ..session.schemas import RejectedOut, SessionOut
from .event_list import EVENTS
from .rejected_list import REJECTED
from .schemas import (
    AgentEventOut,
    AgentTurnPage,
    AgentTurnQuery,
    ErrorOut,
    ErrorQuery,
    EventQuery,
    RejectedQuery,
    SessionQuery,
)
from .session_list import SESSIONS
from .turn_list import TURNS

router = Operations("ledger_lists_api", tags=["ledger"])


@router.get("/agents/{agent}/sessions", Page[SessionOut], 404, 409, 503)
@agent_view_for("viewer")
def session_list(request, agent, filters: Query[SessionQuery]):
    """Sessions of an agent, last active first.

    A search may return fewer than `limit`, and a `next`.
    """
    return page_to_json(SESSIONS.fits(agent, **filters.criteria()).page(**filters.place))


@router.get("/agents/{agent}/events", Page[AgentEventOut], 404, 409, 503)
@agent_view_for("viewer")
def event_list(request, agent, filters: Query[EventQuery]):
    """Records of all sessions of an agent, newest first.

    A search may return fewer than `limit`, and a `next`.
    """
    listing = EVENTS.fits(agent, **filters.criteria())
    left_out = ("full_zstd",) if filters.include_payload else PAYLOAD_COLUMNS
    listing = replace(listing, rows=listing.rows.defer(*left_out))
    limits = {"budget": BUDGET_BYTES, "weigh": count_event_bytes} if filters.include_payload else {}
    page = listing.page(**filters.place, **limits)
    if filters.include_payload:
        annotate_payloads(page)
    return page_to_json(page)


@router.get("/agents/{agent}/turns", AgentTurnPage, 404, 409, 503)
@agent_view_for("viewer")
def turn_list(request, agent, filters: Query[AgentTurnQuery]):
    """Turns of all sessions of an agent, newest first.

    A search may return fewer than `limit`, and a `next`.
    """
    listing = TURNS.fits(agent, **filters.criteria())
    return page_to_json(listing.page(**filters.place, budget=BUDGET_BYTES, weigh=count_turn_bytes))


@router.get("/errors", Page[ErrorOut], 409)
@needs("viewer")
def error_list(request, filters: Query[ErrorQuery]):
    """Failed calls of tools and models, grouped by their normalised message; the last ones first."""
    listing = ERRORS.fits(request.user, **filters.criteria())
    page = replace(listing, rows=read_values(listing.rows)).page(**filters.place)
    agents = read_agents([row["id"] for row in page])
    return page_to_json(page, [row | {"agents": agents[row["id"]]} for row in page])


@router.get("/agents/{agent}/rejected", Page[RejectedOut], 404, 409, 503)
@agent_view_for("viewer")
def rejected_list(request, agent, filters: Query[RejectedQuery]):
    """Lines that could not be read, with their location and the reason; newest first."""
    return page_to_json(REJECTED.fits(agent, **filters.criteria()).page(**filters.place))
