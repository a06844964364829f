"""Calls of the gate's model; each has a row with its window and its outcome."""

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
    """The session, turn, replay or decision that a call is for."""

    session_id: str
    turn_id: str | None
    replay_id: str | None = None
    decision_id: str | None = None  # the decision that is replayed


def ask_gate(db: str, gate: Gate, window: Window, subject: CallSubject, *, wait: Wait) -> tuple[GateCall, Answer]:
    """Ask the model about a window, and return the last call's row and the answer.

    The row's outcome is still `sent`. Raises LimitReached and CallFailed. `wait` lets seconds pass between attempts.
    """

    def row(columns):
        return GateCall(
            turn_id=subject.turn_id,
            session_id=subject.session_id,
            replay_id=subject.replay_id,
            decision_id=subject.decision_id,
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


def store_malformed(db: str, call: GateCall, answer: Answer, malformed: MalformedAnswer) -> None:
    """Store that the answer to a call was no decision, with the answer."""
    call.outcome, call.failure, call.reason = GateCall.Outcome.MALFORMED, str(malformed.kind), malformed.sentence
    call.raw_response = decision_store.store_response(db, answer.text, call.session_id, call.turn_id)
    _save_failed(db, call)


def _save_failed(db, call):
    if call.replay_id is not None:  # calls of replays are not counted
        call.save(using=db, force_update=True)
        return
    with write_queue.agent_transaction(db):  # stored again, since a failed call is counted where it is stored
        GateCall.objects.using(db).filter(id=call.id).delete()
        decision_store.store_calls(db, [call])
