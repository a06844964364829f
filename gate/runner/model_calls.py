"""Calls of the gate's model, each with a row that says what it was shown and how it ended."""

from dataclasses import dataclass

from agents.runners import calls
from agents.runners.calls import ModelRequest, Wait
from openclaw_web.llm.client import Answer, CallFailed
from openclaw_web.sqlite import write_queue

from ..models import GateCall
from ..recording import decision_store, windows
from ..recording.reports import Origin
from ..recording.windows import Window
from . import prompts
from .answer_parsing import MalformedAnswer
from .config import MOST_ANSWER, RUNNER, Gate


@dataclass(frozen=True, slots=True)
class CallSubject:
    """What a call is about."""

    session_id: str
    turn_id: str | None
    replay_id: str | None = None
    decision_id: str | None = None  # that is made again


def ask_gate(db: str, gate: Gate, window: Window, whose: CallSubject, *, wait: Wait) -> tuple[GateCall, Answer]:
    """What the model says of a window, and the row of the last call, still `sent`. Raises LimitReached, CallFailed."""

    def row(columns):
        return GateCall(
            turn_id=whose.turn_id,
            session_id=whose.session_id,
            replay_id=whose.replay_id,
            decision_id=whose.decision_id,
            origin=Origin.OWN,
            llm_model=gate.model,
            prompt_version=gate.prompt.version,
            window_hash=window.hash,
            **columns,
        )

    def keep():
        prompts.store_prompt(db, gate.prompt)
        windows.store_windows(db, [window])

    def save_failed(call, failure: CallFailed):
        call.raw_response = decision_store.store_response(db, failure.body or None, call.session_id, call.turn_id)
        _save_failed(db, call)

    request = ModelRequest(
        row=row,
        send=lambda: gate.ask(window),
        cost=gate.cost,
        prompt_tokens=gate.prompt_tokens(window),
        most_answer=MOST_ANSWER,
        save_failed=save_failed,
        keep=keep,
    )
    return calls.send_request(RUNNER.allowance, db, request, wait=wait)


def store_malformed(db: str, call: GateCall, answer: Answer, why: MalformedAnswer) -> None:
    """Store that the answer to a call was no decision, with what it was."""
    call.outcome, call.failure, call.reason = GateCall.Outcome.MALFORMED, str(why.kind), why.sentence
    call.raw_response = decision_store.store_response(db, answer.text, call.session_id, call.turn_id)
    _save_failed(db, call)


def _save_failed(db, call):
    if call.replay_id is not None:  # those count nowhere
        call.save(using=db, force_update=True)
        return
    with write_queue.agent_transaction(db):  # written anew: a call that failed is counted where it is stored
        GateCall.objects.using(db).filter(id=call.id).delete()
        decision_store.store_calls(db, [call])
