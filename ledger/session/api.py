"""One session in the API: its records, branches and turns."""

from dataclasses import asdict

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Query

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of
from people.configuration import setting_values as configuration

from ..models import Session
from ..outputs import stashed_outputs as outputs
from ..transcripts import contexts, forks
from . import branch_records
from .schemas import (
    BranchList,
    ContextOut,
    EventOut,
    EventQuery,
    SessionDetailOut,
    TurnOut,
    TurnQuery,
)

router = Operations("ledger_api", tags=["ledger"])
BUDGET_BYTES = 2_000_000  # of texts in one answer
PAYLOAD_COLUMNS = ("event_json", "trim_json", "full_zstd", "error_group")  # columns behind long texts


@router.get("/agents/{agent}/sessions/{session_id}", SessionDetailOut, 404, 503)
@agent_view_for("viewer")
def session_detail(request, agent, session_id: str):
    """One session, with what OpenClaw's index says of it."""
    return get_object_or_404(Session.objects.using(agent.db).for_reading().defer(None), id=session_id)


@router.get("/agents/{agent}/sessions/{session_id}/events", Page[EventOut], 404, 409, 503)
@agent_view_for("viewer")
def session_events(request, agent, session_id: str, filters: Query[EventQuery]):
    """The records of a session in order; their content only with `include_payload`."""
    session = get_object_or_404(Session.objects.using(agent.db).only("id", "leaf_record_id"), id=session_id)
    records = branch_records.find_branch_records(session, "" if filters.branch == "active" else filters.branch)
    if records is None:
        raise Refused(_("This session has no such branch. See the list of its branches."))
    columns = {"kind": filters.kind, "is_failed": filters.failed, "tool_name": filters.tool}
    events = records.events().filter(**{name: value for name, value in columns.items() if value is not None})
    events = events.defer("full_zstd") if filters.include_payload else events.defer(*PAYLOAD_COLUMNS)
    limits = {"budget": BUDGET_BYTES, "weigh": count_event_bytes} if filters.include_payload else {}
    page = page_of(events, order=("seq",), **filters.place, **limits)
    if filters.include_payload:
        annotate_payloads(page)
    return page_to_json(page)


@router.get("/agents/{agent}/sessions/{session_id}/branches", BranchList, 404, 503)
@agent_view_for("viewer")
def session_branches(request, agent, session_id: str):
    """The abandoned branches of a session, latest first."""
    session = get_object_or_404(Session.objects.using(agent.db), id=session_id)
    abandoned = forks.find_branches(session)
    items = [
        asdict(branch) | ({"fork_seq": None, "fork_id": None} if branch.fork_seq == forks.ROOT else {})
        for branch in forks.describe_branches(session, abandoned[: forks.MAX_BRANCHES])
    ]
    return {"items": items, "count": len(abandoned)}


@router.get("/agents/{agent}/sessions/{session_id}/turns", Page[TurnOut], 404, 409, 503)
@agent_view_for("viewer")
def session_turns(request, agent, session_id: str, filters: Query[TurnQuery]):
    """The turns of a session in order, with the messages of both sides."""
    session = get_object_or_404(Session.objects.using(agent.db).only("id"), id=session_id)
    turns = session.turns.active() if filters.branch == "active" else session.turns.all()
    order = ("turn_number",)
    return page_to_json(page_of(turns, order=order, **filters.place, budget=BUDGET_BYTES, weigh=count_turn_bytes))


@router.get("/agents/{agent}/turns/context", ContextOut, 404, 503)
@agent_view_for("viewer")
def turn_context(request, agent, turn_id: str = Query(..., max_length=2000, description="`id` of a turn")):
    """The messages before a turn: as stored, or computed now with the setting `memoryGate.windowSize`."""
    context = contexts.read_context(agent.db, configuration.get_number(contexts.SETTING), id=turn_id)
    request.opened = ("session", context.turn.session_id)
    return context.as_json()


def annotate_payloads(events):
    """Set the payloads of a page's events, or only the size of big ones."""
    stashed_outputs = outputs.outputs_to_json(events)
    for event in events:
        event.payload_bytes = count_event_bytes(event)
        event.payload = event.record if event.payload_bytes <= BUDGET_BYTES else None
        trimmed = {name: value for name, value in event.trim.items() if name != "stashed"}  # a field of its own
        event.trimmed = trimmed or None
        event.stashed = stashed_outputs.get((event.session_id, event.seq), [])


def count_event_bytes(event):
    """The size of a record in an answer, in bytes."""
    return len(event.event_json.encode())


def count_turn_bytes(turn):
    """The size of a turn in an answer, in bytes."""
    texts = (turn.user_message_content, turn.agent_message_content, turn.user_metadata, turn.agent_metadata)
    return sum(len((text or "").encode()) for text in texts)
