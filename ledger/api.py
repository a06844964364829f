"""Sessions of an agent, their records and turns."""

import orjson
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from agents.decorators import agent_view, needs
from agents.schemas import PageFilters, problems
from openclaw_web.paging import page_of

from . import listing
from .models import ConversationTurn, RejectedRecord, Session, TranscriptEventIdentity
from .schemas import (
    EventFilters,
    EventPage,
    RejectedPage,
    SessionFilters,
    SessionOut,
    SessionPage,
    TurnFilters,
    TurnPage,
)

router = Router(tags=["ledger"])
BUDGET_BYTES = 2_000_000  # of texts in one answer
HEAVY = ("event_json", "trim_json", "full_zstd")


@router.get("/agents/{agent}/sessions", response={200: SessionPage, **problems(404, 409, 503)})
@agent_view
@needs("viewer")
def session_list(request, agent, filters: Query[SessionFilters]):
    """Sessions of an agent, the last active first. A search for words may answer fewer than there are, and a `next`."""
    sessions = _narrowed(Session.objects.using(agent.db).for_reading(), filters)
    page = listing.page(sessions, words=filters.q, after=filters.after, size=filters.limit)
    return {"items": page, "next": page.next}


@router.get("/agents/{agent}/sessions/{session_id}", response={200: SessionOut, **problems(404, 503)})
@agent_view
@needs("viewer")
def session_detail(request, agent, session_id: str):
    """One session."""
    return get_object_or_404(Session.objects.using(agent.db).for_reading(), id=session_id)


@router.get("/agents/{agent}/sessions/{session_id}/events", response={200: EventPage, **problems(404, 409, 503)})
@agent_view
@needs("viewer")
def session_events(request, agent, session_id: str, filters: Query[EventFilters]):
    """The records of a session in order; what they hold only with `include_payload`."""
    session = get_object_or_404(Session.objects.using(agent.db).only("id"), id=session_id)
    events = session.events.defer("full_zstd") if filters.include_payload else session.events.defer(*HEAVY)
    if filters.branch == "active":
        events = events.filter(is_active=True)
    limits = {"budget": BUDGET_BYTES, "weigh": _event_bytes} if filters.include_payload else {}
    page = page_of(events, order=("seq",), after=filters.after, size=filters.limit, **limits)
    _say_who(page, session)
    if filters.include_payload:
        _open_payloads(page)
    return {"items": page, "next": page.next}


@router.get("/agents/{agent}/sessions/{session_id}/turns", response={200: TurnPage, **problems(404, 409, 503)})
@agent_view
@needs("viewer")
def session_turns(request, agent, session_id: str, filters: Query[TurnFilters]):
    """The turns of a session in order, with the words of both sides."""
    session = get_object_or_404(Session.objects.using(agent.db).only("id"), id=session_id)
    return _turn_page(session.turns.all(), filters, order=("turn_number",))


@router.get("/agents/{agent}/turns", response={200: TurnPage, **problems(404, 409, 503)})
@agent_view
@needs("viewer")
def turn_list(request, agent, filters: Query[TurnFilters]):
    """Turns of all sessions of an agent, the newest first."""
    return _turn_page(ConversationTurn.objects.using(agent.db).all(), filters, order=("-created_at", "-id"))


@router.get("/agents/{agent}/rejected", response={200: RejectedPage, **problems(404, 409, 503)})
@agent_view
@needs("viewer")
def rejected_list(request, agent, filters: Query[PageFilters]):
    """Lines that could not be read, with their place and the reason; the newest first."""
    rejected = RejectedRecord.objects.using(agent.db)
    page = page_of(rejected, order=("-id",), after=filters.after, size=filters.limit)
    return {"items": page, "next": page.next}


def _narrowed(sessions, filters):
    columns = {"channel_id": filters.channel, "model": filters.model, "origin": filters.origin}
    sessions = sessions.filter(**{name: value for name, value in columns.items() if value})
    return sessions.filter(error_count__gt=0) if filters.errors else sessions


def _turn_page(turns, filters, *, order):
    if filters.branch == "active":
        turns = turns.active()
    turns = turns.defer("user_metadata", "agent_metadata")
    page = page_of(turns, order=order, after=filters.after, size=filters.limit, budget=BUDGET_BYTES, weigh=_turn_bytes)
    return {"items": page, "next": page.next}


def _say_who(events, session):
    """Give events of a page their record's id and the one before it, which another table holds."""
    if not events:
        return
    identities = TranscriptEventIdentity.objects.using(session._state.db).filter(
        session_id=session.id, seq__gte=events[0].seq, seq__lte=events[-1].seq
    )
    known = {seq: ids for seq, *ids in identities.values_list("seq", "event_id", "parent_id")}
    for event in events:
        event.record_id, event.parent_id = known.get(event.seq, (None, None))


def _open_payloads(events):
    for event in events:
        event.payload_bytes = _event_bytes(event)
        event.payload = orjson.loads(event.event_json) if event.payload_bytes <= BUDGET_BYTES else None
        event.trimmed = orjson.loads(event.trim_json) if event.trim_json else None


def _event_bytes(event):
    return len(event.event_json.encode())


def _turn_bytes(turn):
    return len(turn.user_message_content.encode()) + len(turn.agent_message_content.encode())
