"""Replays one decision on its stored window; the original does not change."""

from django.db.models import F

from agents.runners.calls import Wait
from openclaw_web import clock
from openclaw_web.sqlite import write_queue

from ..models import GateCall, GateReplay, GateReplayDecision, MemoryGateDecision
from ..recording import decision_store, windows
from ..runner import answer_parsing, model_calls
from ..runner.config import Gate
from ..runner.turn_decision import DecisionOutcome

Outcome = GateReplayDecision.Outcome


def replay_decision(db: str, gate: Gate, replay_id: str, decision_id: str, *, wait: Wait) -> DecisionOutcome:
    """Replay a decision once, and return the outcome.

    Raises LimitReached and CallFailed: the decision then waits for another attempt.
    """
    rows = GateReplayDecision.objects.using(db).filter(replay_id=replay_id, decision_id=decision_id)
    if not rows.filter(outcome=Outcome.WAITING).exists():
        return DecisionOutcome.GONE
    original = MemoryGateDecision.objects.using(db).filter(id=decision_id).defer("raw_response").first()
    window = original and windows.read_window(db, original.window_hash)
    if window is None:
        return _set_outcome(rows, Outcome.LOST, DecisionOutcome.GONE)
    if windows.find_withheld(db, [original]):
        return _set_outcome(rows, Outcome.WITHHELD, DecisionOutcome.WITHHELD)
    subject = model_calls.CallSubject(original.session_id, original.turn_id, replay_id, decision_id)
    call, answer = model_calls.ask_gate(db, gate, window, subject, wait=wait)
    columns = {
        "llm_latency_ms": answer.latency_ms,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "cost_usd": call.cost_usd,
    }
    try:
        model_decision = answer_parsing.parse_answer(answer.text)
    except answer_parsing.MalformedAnswer as malformed:
        columns["reason"] = malformed.sentence
        with write_queue.agent_transaction(db):
            model_calls.store_malformed(db, call, answer, malformed)
            return _set_outcome(rows, Outcome.MALFORMED, DecisionOutcome.MALFORMED, **columns)
    call.outcome = GateCall.Outcome.DECIDED
    call.raw_response = decision_store.store_response(db, answer.text, call.session_id, call.turn_id)
    columns |= {
        "decision": model_decision.decision,
        "reason": model_decision.reason,
        "candidate_fact": model_decision.candidate_fact,
    }
    with write_queue.agent_transaction(db):
        call.save(using=db, force_update=True)
        # Store a replayed decision beside the original, and count it.
        is_same = rows.filter(original=columns["decision"]).exists()
        outcome = _set_outcome(rows, Outcome.DECIDED, DecisionOutcome.DECIDED, is_same=is_same, **columns)
        if outcome == DecisionOutcome.DECIDED:
            replays = GateReplay.objects.using(db).filter(id=replay_id)
            replays.update(decided=F("decided") + 1, agreed=F("agreed") + is_same)
        return outcome


def _set_outcome(rows, outcome, ended, **columns):
    """Set the outcome of a decision that waits.

    A decision that another process has ended does not change.
    """
    changed = rows.filter(outcome=Outcome.WAITING).update(outcome=outcome, created_at=clock.now_ms(), **columns)
    return ended if changed else DecisionOutcome.GONE
