"""Savings by big outputs kept off the prompt, of an agent and of one session."""

from dataclasses import fields

from django.shortcuts import get_object_or_404
from ninja import Query

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations

from ..models import Session
from . import prompts, sums
from .schemas import AgentSavingsOut, SavingsQuery, SessionSavingsOut, TurnsQuery

router = Operations("ledger_savings_api", tags=["ledger"])


@router.get("/agents/{agent}/savings", AgentSavingsOut, 404, 503)
@agent_view_for("viewer")
def agent_savings(request, agent, filters: Query[SavingsQuery]):
    """Totals of an agent's outputs, and the size of its prompts by day.

    The largest and the repeated outputs are listed.
    """
    scope = sums.Scope(agent.db, sums.find_first_day(agent.db, int(filters.days)), filters.tool, filters.channel)
    answer = _build_answer(sums.read_agent_savings(scope))
    return answer | {"since": str(scope.since), "prompts": prompts.read_agent_prompts(scope)}


@router.get("/agents/{agent}/sessions/{session_id}/savings", SessionSavingsOut, 404, 409, 503)
@agent_view_for("viewer")
def session_savings(request, agent, session_id: str, place: Query[TurnsQuery]):
    """The same for one session, with the size of its prompts by turn."""
    session = get_object_or_404(Session.objects.using(agent.db), id=session_id)
    session_prompts = prompts.read_session_prompts(session, after=place.after, before=place.before)
    page = {"next": session_prompts.page.next, "previous": session_prompts.page.previous}
    return _build_answer(sums.read_session_savings(session)) | {
        "prompts": {"turns": session_prompts.turns, "band": session_prompts.band, **page}
    }


def _build_answer(savings):
    values = {field.name: getattr(savings, field.name) for field in fields(savings)}
    return values | {"chars_per_token": sums.CHARS_PER_TOKEN, "carried_percent": savings.carried_percent}
