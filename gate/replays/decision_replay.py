"""One decision, made again on the window it was made on; the original stays as it is."""

from collections.abc import Callable

from django.db.models import F

from openclaw_web import clock
from openclaw_web.sqlite import write_queue

from ..models import GateCall, GateReplay, GateReplayDecision, MemoryGateDecision
from ..recording import decision_store, windows
from ..runner import answer_parsing, model_calls
from ..runner.config import Gate
from ..runner.turn_decision import DecisionOutcome

Outcome = GateReplayDecision.Outcome


def replay_decision(
    db: str, gate: Gate, replay_id: str, decision_id: str, *, wait: Callable[[float], object]
) -> DecisionOutcome:
    """Have a decision of a replay made again, once. Raises LimitReached and CallFailed: then it waits on."""
    rows = GateReplayDecision.objects.using(db).filter(replay_id=replay_id, decision_id=decision_id)
    if not rows.filter(outcome=Outcome.WAITING).exists():
        return DecisionOutcome.GONE
    original = MemoryGateDecision.objects.using(db).filter(id=decision_id).defer("raw_response").first()
    window = original and windows.read_window(db, original.window_hash)
    if window is None:
        return _end(rows, Outcome.LOST, DecisionOutcome.GONE)
    if windows.find_withheld(db, [original]):
        return _end(rows, Outcome.WITHHELD, DecisionOutcome.WITHHELD)
    whose = model_calls.CallSubject(original.session_id, original.turn_id, replay_id, decision_id)
    call, answer = model_calls.ask_gate(db, gate, window, whose, wait=wait)
    told = {
        "llm_latency_ms": answer.latency_ms,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "cost_usd": call.cost_usd,
    }
    try:
        decided = answer_parsing.parse_answer(answer.text)
    except answer_parsing.MalformedAnswer as why:
        with write_queue.agent_transaction(db):
            model_calls.store_malformed(db, call, answer, why)
            return _end(rows, Outcome.MALFORMED, DecisionOutcome.MALFORMED, reason=why.sentence, **told)
    call.outcome = GateCall.Outcome.DECIDED
    call.raw_response = decision_store.store_response(db, answer.text, call.session_id, call.turn_id)
    told |= {"decision": decided.decision, "reason": decided.reason, "candidate_fact": decided.candidate_fact}
    with write_queue.agent_transaction(db):
        call.save(using=db, force_update=True)
        return _store(db, rows, replay_id, told)


def _store(db, rows, replay_id, told):
    """Keep a decision beside the original, and count it."""
    is_same = rows.filter(original=told["decision"]).exists()
    ended = _end(rows, Outcome.DECIDED, DecisionOutcome.DECIDED, is_same=is_same, **told)
    if ended == DecisionOutcome.DECIDED:
        replays = GateReplay.objects.using(db).filter(id=replay_id)
        replays.update(decided=F("decided") + 1, agreed=F("agreed") + is_same)
    return ended


def _end(rows, outcome, ended, **told):
    """Say of a decision that waits how it ended; one that another process has ended meanwhile stays as it is."""
    changed = rows.filter(outcome=Outcome.WAITING).update(outcome=outcome, created_at=clock.now_ms(), **told)
    return ended if changed else DecisionOutcome.GONE
