"""What the page of one decision shows: what the gate saw, what was asked of a model for it, and what is around it."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from agents.models import Agent
from artifacts import handles
from ledger.models import ConversationTurn, Session
from ledger.session import evidence
from openclaw_web.lists import neighbours
from openclaw_web.lists.filters import ListFilters
from openclaw_web.lists.neighbours import Neighbours
from openclaw_web.lists.paging import Listing
from people.configuration import setting_values as configuration

from .. import decisions
from ..lists.decision_list import DECISIONS, DecisionFilters
from ..models import GateCall, MemoryGateDecision
from ..recording.decision_store import RAW_SETTING
from . import window_state

LONGEST = 8_000  # characters that are shown of a message
MOST = 50  # calls, and other decisions on one turn


@dataclass(frozen=True, slots=True)
class MessageExcerpt:
    """A message as the page shows it; `length` counts the characters of the whole, `at` is None where nobody said."""

    role: str
    text: str
    length: int
    at: int | None = None

    @property
    def is_cut(self) -> bool:
        """Whether there is more than is shown."""
        return len(self.text) < self.length


@dataclass(frozen=True, slots=True)
class Response:
    """The response of a model: the text, or the name of the artifact that holds it; neither where there is none."""

    text: str = ""
    sha256: str = ""
    is_kept_now: bool = True  # whether the settings let responses be kept


def build_decision_context(agent: Agent, row: MemoryGateDecision, *, is_operator: bool) -> dict[str, Any]:
    """Everything about a decision but its neighbours; raw responses for operators alone."""
    return {
        **_around(agent, row, is_operator=is_operator),
        "evidence": evidence.read_evidence(agent.db, row),
        "calls": list(_calls(agent.db, row)),
        "others": _others(agent.db, row),
    }


def build_call_context(agent: Agent, row: GateCall, *, is_operator: bool) -> dict[str, Any]:
    """Everything about a call; the raw response for operators alone."""
    return _around(agent, row, is_operator=is_operator)


def _around(agent, row, *, is_operator):
    turn = ConversationTurn.objects.using(agent.db).filter(id=row.turn_id).first() if row.turn_id else None
    found = window_state.read_window_state(agent.db, row)
    return {
        "row": row,
        "turn": turn,
        "session": Session.objects.using(agent.db).filter(id=row.session_id).only("id", "title").first(),
        "seen": found,
        **_messages(found, turn),
        "has_response": row.raw_response is not None,
        "response": response(row.raw_response) if is_operator else None,
    }


def response(raw: str | None) -> Response:
    """What there is of a raw response."""
    is_kept = configuration.is_on(RAW_SETTING)
    if raw is None:
        return Response(is_kept_now=is_kept)
    try:
        return Response(sha256=handles.parse(raw), is_kept_now=is_kept)
    except handles.NotAHandle:
        return Response(text=raw, is_kept_now=is_kept)


def _messages(found, turn):
    """The window as messages: those before the turn, and both sides of it; and what the gate did not see of it."""
    if found.window is None:
        return {"earlier": [], "question": None, "reply": None, "unseen": None, "is_cut": False}
    earlier = [_said(each["role"], each["message"], each["timestamp"]) for each in found.window.recent]
    question, reply = _side("user", found.window.user), _side("agent", found.window.reply)
    unseen = _said("user", turn.user_message_content) if turn and question is None else None
    is_cut = any(said.is_cut for said in (*earlier, question, reply) if said)
    return {"earlier": earlier, "question": question, "reply": reply, "unseen": unseen, "is_cut": is_cut}


def _side(role, text):
    return None if text is None else _said(role, text)


def _said(role, text, at=None):
    return MessageExcerpt(role, text[:LONGEST], len(text), at)


def _calls(db, row):
    """The calls that were made for a decision, and those before them on its turn that failed, in order."""
    own = Q(decision_id=row.id)
    if row.turn_id:
        own |= Q(turn_id=row.turn_id, decision_id=None)
    rows = GateCall.objects.using(db).filter(own, replay_id=None).defer("raw_response")
    return rows.order_by("created_at", "attempt", "id")[:MOST]


def _others(db, row):
    """Other decisions on the same turn, the one that is shown for the turn first."""
    if not row.turn_id:
        return []
    rows = MemoryGateDecision.objects.using(db).filter(turn_id=row.turn_id).exclude(id=row.id).defer("raw_response")
    return decisions.rank_decisions(rows.order_by("-created_at", "id")[:MOST])


def read_list_filters(query: Any) -> ListFilters:
    """The filters of the list in an address; none where they do not hold."""
    return neighbours.read_list_filters(DecisionFilters, query)


def find_list_neighbours(agent: Agent, row: MemoryGateDecision, filters: ListFilters) -> Neighbours:
    """The neighbours of a decision in the list with these filters; `row` is `placed`."""
    return neighbours.find_neighbours(DECISIONS.fits(agent, sort=filters.sorting, **filters.asked), row)


def find_session_neighbours(agent: Agent, row: MemoryGateDecision) -> Neighbours:
    """The decisions of the same session before and after it in time."""
    rows = MemoryGateDecision.objects.using(agent.db).placed().filter(session_id=row.session_id)
    return neighbours.find_neighbours(Listing(rows, ("created_at", "place")), row)
