"""API of memory_gate's decisions, their calls and prompts."""

from dataclasses import replace

from django.http import Http404
from ninja import Query, Status

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json

from .detail import api_detail, prompt_versions
from .lists.call_list import CALLS
from .lists.decision_list import DECISIONS
from .lists.schemas import CallDetail, CallOut, CallQuery, DecisionDetail, DecisionOut, DecisionQuery, PromptOut
from .recording import api_import
from .schemas import DecisionsIn, RecordedOut

router = Operations("gate_api", tags=["gate"])


@router.post("/agents/{agent}/gate/decisions", {201: RecordedOut, 200: RecordedOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def gate_record(request, agent, body: DecisionsIn):
    """Record decisions of a running plugin: up to 100, all or none.

    The same id with other content is refused with 409.
    """
    stored = api_import.record_reports(agent, body.decisions)
    body_out = {"recorded": stored.new, "known": stored.known, "withheld": stored.withheld}
    return Status(201 if stored.new else 200, body_out)


@router.get("/agents/{agent}/gate/decisions", Page[DecisionOut], 404, 409, 503)
@agent_view_for("viewer")
def gate_decision_list(request, agent, filters: Query[DecisionQuery]):
    """Decisions of the memory gate, newest first.

    A search may return fewer than `limit`, and a `next`.
    """
    matches = DECISIONS.fits(agent, **filters.criteria())
    rows = matches.rows.defer(None) if filters.with_response and request.user.has_role("operator") else matches.rows
    matches = replace(matches, rows=api_detail.annotate_responses(rows))
    return page_to_json(
        matches.page(**filters.place, **api_detail.build_page_limits(agent.db, with_context=filters.with_context))
    )


@router.get("/agents/{agent}/gate/decisions/{decision_id}", DecisionDetail, 404, 503)
@agent_view_for("viewer")
def gate_decision_detail(request, agent, decision_id: str):
    """One decision with its turn and the messages that the gate was given.

    Operators get the response of the model, too.
    """
    return api_detail.read_decision(agent, decision_id, is_operator=request.user.has_role("operator"))


@router.get("/agents/{agent}/gate/calls", Page[CallOut], 404, 409, 503)
@agent_view_for("viewer")
def gate_call_list(request, agent, filters: Query[CallQuery]):
    """Calls of models for the gate, newest first.

    A search may return fewer than `limit`, and a `next`.
    """
    matches = CALLS.fits(agent, **filters.criteria())
    return page_to_json(replace(matches, rows=api_detail.annotate_responses(matches.rows)).page(**filters.place))


@router.get("/agents/{agent}/gate/calls/{call_id}", CallDetail, 404, 503)
@agent_view_for("viewer")
def gate_call_detail(request, agent, call_id: str):
    """One call, for operators with the response of the model."""
    return api_detail.read_call(agent, call_id, is_operator=request.user.has_role("operator"))


@router.get("/agents/{agent}/gate/prompts/{prompt_id}", PromptOut, 404, 503)
@agent_view_for("viewer")
def gate_prompt_detail(request, agent, prompt_id: str):
    """One version of the gate's prompt with its text."""
    prompt = prompt_versions.find_prompt(agent, prompt_id)
    if prompt is None:
        raise Http404
    text, at = (prompt.row.text, prompt.row.created_at) if prompt.row else (None, None)
    return {"id": prompt.id, "text": text, "created_at": at, "decision_count": prompt.decisions.count}
