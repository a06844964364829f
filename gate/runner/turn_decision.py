"""Decides on one turn: builds its window, calls the model, stores the decision once."""

import hashlib
from collections.abc import Callable
from enum import StrEnum

from ledger.models import ConversationTurn
from ledger.transcripts import contexts
from openclaw_web import clock
from openclaw_web.llm.client import Answer
from openclaw_web.sqlite import write_queue
from people.configuration import setting_values as configuration

from ..models import GateCall, MemoryGateDecision
from ..recording import decision_store
from ..recording.reports import Match, Origin, Report, Source
from . import answer_parsing, model_calls, turn_window
from .config import Gate


class DecisionOutcome(StrEnum):
    """The outcome of judging a turn."""

    DECIDED = "decided"
    MALFORMED = "malformed"
    WITHHELD = "withheld"
    GONE = "gone"  # the turn was removed, or has a decision of this gate by now


def decision_id(turn_id: str, gate: Gate) -> str:
    """Return the id of a gate's decision on a turn.

    The same gate and turn always have the same id.
    """
    identity = "\0".join((turn_id, gate.prompt.version, gate.model))
    return f"own-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"


def decide_turn(db: str, gate: Gate, turn_id: str, *, wait: Callable[[float], object]) -> DecisionOutcome:
    """Judge a turn, if its senders allow it at this moment.

    Raises LimitReached and CallFailed.
    """
    turn = ConversationTurn.objects.using(db).active().filter(id=turn_id).select_related("session").first()
    decisions = MemoryGateDecision.objects.using(db)
    if turn is None or decisions.filter(id=decision_id(turn_id, gate)).exists():
        return DecisionOutcome.GONE
    window = turn_window.build_window(db, turn, configuration.get_number(contexts.SETTING))
    if window is None:
        return DecisionOutcome.WITHHELD
    call, answer = model_calls.ask_gate(db, gate, window, model_calls.CallSubject(turn.session_id, turn.id), wait=wait)
    try:
        model_decision = answer_parsing.parse_answer(answer.text)
    except answer_parsing.MalformedAnswer as malformed:
        model_calls.store_malformed(db, call, answer, malformed)
        return DecisionOutcome.MALFORMED
    row = _build_row(db, gate, turn, call, answer)
    row.decision, row.reason, row.candidate_fact = (
        model_decision.decision,
        model_decision.reason,
        model_decision.candidate_fact,
    )
    with write_queue.agent_transaction(db):  # the decision and the outcome of its call, both or neither
        decision_store.store_reports(db, [Report(row=row, source=Source.OWN, window=window)])
        call.outcome, call.decision_id = GateCall.Outcome.DECIDED, row.id
        call.save(using=db, force_update=True)
    return DecisionOutcome.DECIDED


def _build_row(db, gate, turn, call: GateCall, answer: Answer):
    return MemoryGateDecision(
        id=decision_id(turn.id, gate),
        turn_id=turn.id,
        session_id=turn.session_id,
        session_key=turn.session.session_key,
        llm_model=gate.model,
        llm_latency_ms=answer.latency_ms,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        raw_response=decision_store.store_response(db, answer.text, turn.session_id, turn.id),
        created_at=clock.now_ms(),
        origin=Origin.OWN,
        match=Match.GIVEN,
        saw_user=bool(turn.user_message_content.strip()),
        prompt_version=gate.prompt.version,
        cost_usd=call.cost_usd,
    )
