"""Decisions as the API tells them: with what the gate saw, and for operators with the response of the model."""

from typing import Any

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404

from agents.models import Agent
from ledger.models import ConversationTurn
from ledger.session.evidence import read_evidence

from ..models import GateCall, MemoryGateDecision
from . import window_state

BUDGET = 2_000_000  # characters of texts in one answer


def annotate_responses(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Rows that say whether they have a raw response, which is not read."""
    return rows.annotate(has_raw_response=Q(raw_response__isnull=False))


def build_page_limits(db: str, *, with_context: bool) -> dict[str, Any]:
    """How a page of decisions ends before its texts get too long (`page_of`); with contexts, each row gets its own."""

    def weigh(row):
        if with_context and not hasattr(row, "context"):
            _give_context(db, row)
        texts = (row.reason, row.candidate_fact, row.__dict__.get("raw_response"))
        return sum(len(text or "") for text in texts) + getattr(row, "context_length", 0)

    return {"budget": BUDGET, "weigh": weigh}


def read_decision(agent: Agent, decision_id: str, *, is_operator: bool) -> MemoryGateDecision:
    """A decision with its turn and its context. Raises Http404 when there is none."""
    row = get_object_or_404(MemoryGateDecision.objects.using(agent.db), id=decision_id)
    row.turn = ConversationTurn.objects.using(agent.db).filter(id=row.turn_id).first() if row.turn_id else None
    row.evidence = read_evidence(agent.db, row)
    _give_context(agent.db, row)
    return _for(row, is_operator=is_operator)


def read_call(agent: Agent, call_id: str, *, is_operator: bool) -> GateCall:
    """A call. Raises Http404 when there is none."""
    return _for(get_object_or_404(GateCall.objects.using(agent.db), id=call_id), is_operator=is_operator)


def _for(row, *, is_operator):
    """A row with its raw response for operators, for others with nothing but that there is one."""
    row.has_raw_response = row.raw_response is not None
    if not is_operator:
        row.raw_response = None
    return row


def _give_context(db, row):
    found = window_state.read_window_state(db, row)
    row.context_length = found.length
    row.context_state, row.context = found.state, found.as_json()
