"""Contexts of the pages of a decision and a call.

The gate's window, the calls of the model, and related decisions.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from agents.models import Agent
from artifacts import handles
from ledger.models import ConversationTurn, Session
from ledger.session import evidence
from openclaw_web.lists import neighbours
from openclaw_web.lists.neighbours import Neighbours
from openclaw_web.lists.paging import Listing
from people.configuration import setting_values as configuration

from .. import decisions
from ..models import GateCall, MemoryGateDecision
from ..recording.decision_store import RAW_SETTING
from . import window_state

LONGEST = 8_000  # characters of a message on the page
MOST = 50  # calls, and other decisions on one turn


@dataclass(frozen=True, slots=True)
class MessageExcerpt:
    """A message on the page, shortened.

    `length` counts the characters of the whole message; `at` is None where the time is not known.
    """

    role: str
    text: str
    length: int
    at: int | None = None

    @property
    def is_cut(self) -> bool:
        """Return whether the text is shortened."""
        return len(self.text) < self.length


@dataclass(frozen=True, slots=True)
class Response:
    """The response of a model: its text, or the artifact that holds it.

    Both are empty where there is none.
    """

    text: str = ""
    sha256: str = ""
    is_kept_now: bool = True  # whether the settings allow storing responses


def build_decision_context(agent: Agent, row: MemoryGateDecision, *, is_operator: bool) -> dict[str, Any]:
    """Return the context of a decision's page, but for its neighbours.

    Only operators get raw responses.
    """
    # The calls for a decision, and failed calls before them on its turn.
    own = Q(decision_id=row.id)
    if row.turn_id:
        own |= Q(turn_id=row.turn_id, decision_id=None)
    rows = GateCall.objects.using(agent.db).filter(own, replay_id=None).defer("raw_response")
    return {
        **_build_shared_context(agent, row, is_operator=is_operator),
        "evidence": evidence.read_evidence(agent.db, row),
        "calls": list(rows.order_by("created_at", "attempt", "id")[:MOST]),
        "others": _find_other_decisions(agent.db, row),
    }


def build_call_context(agent: Agent, row: GateCall, *, is_operator: bool) -> dict[str, Any]:
    """Return the context of a call's page.

    Only operators get the raw response.
    """
    return _build_shared_context(agent, row, is_operator=is_operator)


def _build_shared_context(agent, row, *, is_operator):
    turn = ConversationTurn.objects.using(agent.db).filter(id=row.turn_id).first() if row.turn_id else None
    seen_window = window_state.read_window_state(agent.db, row)
    return {
        "row": row,
        "turn": turn,
        "session": Session.objects.using(agent.db).filter(id=row.session_id).only("id", "title").first(),
        "window_state": seen_window,
        **_build_messages(seen_window, turn),
        "has_response": row.raw_response is not None,
        "response": response(row.raw_response) if is_operator else None,
    }


def response(raw: str | None) -> Response:
    """Return the response from a raw response, which may be None."""
    is_kept = configuration.is_on(RAW_SETTING)
    if raw is None:
        return Response(is_kept_now=is_kept)
    try:
        return Response(sha256=handles.parse(raw), is_kept_now=is_kept)
    except handles.NotAHandle:
        return Response(text=raw, is_kept_now=is_kept)


def _build_messages(seen_window, turn):
    """Return the window as messages: those before the turn, and both sides of the turn.

    `unseen_message` is the user's message of the turn where the gate was not given it.
    """
    if seen_window.window is None:
        return {"earlier": [], "question": None, "reply": None, "unseen_message": None, "is_cut": False}
    earlier = [
        _build_excerpt(message["role"], message["message"], message["timestamp"])
        for message in seen_window.window.recent
    ]
    question, reply = _build_side("user", seen_window.window.user), _build_side("agent", seen_window.window.reply)
    unseen_message = _build_excerpt("user", turn.user_message_content) if turn and question is None else None
    is_cut = any(excerpt.is_cut for excerpt in (*earlier, question, reply) if excerpt)
    return {
        "earlier": earlier,
        "question": question,
        "reply": reply,
        "unseen_message": unseen_message,
        "is_cut": is_cut,
    }


def _build_side(role, text):
    return None if text is None else _build_excerpt(role, text)


def _build_excerpt(role, text, at=None):
    return MessageExcerpt(role, text[:LONGEST], len(text), at)


def _find_other_decisions(db, row):
    """Return other decisions on the same turn, the one that counts first."""
    if not row.turn_id:
        return []
    rows = MemoryGateDecision.objects.using(db).filter(turn_id=row.turn_id).exclude(id=row.id).defer("raw_response")
    return decisions.rank_decisions(rows.order_by("-created_at", "id")[:MOST])


def find_session_neighbours(agent: Agent, row: MemoryGateDecision) -> Neighbours:
    """Return the decisions of the same session before and after a decision."""
    rows = MemoryGateDecision.objects.using(agent.db).placed().filter(session_id=row.session_id)
    return neighbours.find_neighbours(Listing(rows, ("created_at", "place")), row)
