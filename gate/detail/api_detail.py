"""Decisions and calls for the API, with their windows.

Operators also get the response of the model.
"""

from typing import Any

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404

from agents.models import Agent
from ledger.models import ConversationTurn
from ledger.session.evidence import read_evidence

from ..models import GateCall, MemoryGateDecision
from . import window_state

BUDGET = 2_000_000  # maximum characters of texts in one answer


def annotate_responses(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Annotate rows with whether they have a raw response, which is not read."""
    return rows.annotate(has_raw_response=Q(raw_response__isnull=False))


def build_page_limits(db: str, *, with_context: bool) -> dict[str, Any]:
    """Return arguments for `page_of` that end a page before its texts get too long.

    With contexts, each row gets its window.
    """

    def weigh(row):
        if with_context and not hasattr(row, "context"):
            _add_context(db, row)
        texts = (row.reason, row.candidate_fact, row.__dict__.get("raw_response"))
        return sum(len(text or "") for text in texts) + getattr(row, "context_length", 0)

    return {"budget": BUDGET, "weigh": weigh}


def read_decision(agent: Agent, decision_id: str, *, is_operator: bool) -> MemoryGateDecision:
    """Return a decision with its turn and its window. Raises Http404."""
    row = get_object_or_404(MemoryGateDecision.objects.using(agent.db), id=decision_id)
    row.turn = ConversationTurn.objects.using(agent.db).filter(id=row.turn_id).first() if row.turn_id else None
    row.evidence = read_evidence(agent.db, row)
    _add_context(agent.db, row)
    return _hide_response(row, is_operator=is_operator)


def read_call(agent: Agent, call_id: str, *, is_operator: bool) -> GateCall:
    """Return a call. Raises Http404."""
    return _hide_response(get_object_or_404(GateCall.objects.using(agent.db), id=call_id), is_operator=is_operator)


def _hide_response(row, *, is_operator):
    """Remove the raw response from a row, unless it is for an operator.

    `has_raw_response` says whether there is one.
    """
    row.has_raw_response = row.raw_response is not None
    if not is_operator:
        row.raw_response = None
    return row


def _add_context(db, row):
    seen_window = window_state.read_window_state(db, row)
    row.context_length = seen_window.length
    row.context_state, row.context = seen_window.state, seen_window.as_json()
