"""Calls of a model, each with a row that is committed before anything is sent and says how it ended."""

from collections.abc import Callable
from dataclasses import dataclass

from ulid import ULID

from openclaw_web import clock
from openclaw_web.llm import client
from openclaw_web.llm.client import Answer, CallFailed, Failure
from openclaw_web.llm.usage import Usage
from openclaw_web.sqlite import writing

from ..models import GateCall
from ..recording import storing
from ..recording.told import Origin
from ..recording.windows import Window
from . import allowance
from .gates import MOST_ANSWER, Gate
from .parsing import CallMalformed

ATTEMPTS = 3
PATIENCE = 120.0  # seconds after the first attempt in which another one begins
# An endpoint that failed like this has not let the model speak: what was taken from the limit is given back.
UNSPOKEN = frozenset({Failure.unreachable, Failure.redirected, Failure.rate_limited, Failure.http_error})


@dataclass(frozen=True, slots=True)
class Whose:
    """What a call is about."""

    session_id: str
    turn_id: str | None
    replay_id: str | None = None
    decision_id: str | None = None  # that is made again


def ask(
    db: str, gate: Gate, window: Window, whose: Whose, *, wait: Callable[[float], object]
) -> tuple[GateCall, Answer]:
    """What the model says of a window, asked up to three times, and the row of the last call, still `sent`.

    `wait` is told how many seconds to let pass between two attempts. Raises LimitReached before a call that the limit
    of the day does not leave room for, and CallFailed when there is no answer: every call's row then says why.
    """
    calls: list[GateCall] = []

    def attempt():
        call = _row(gate, window, whose, len(calls) + 1)
        allowance.reserve(db, call, gate.prompt, window)
        calls.append(call)
        return gate.ask(window)

    def failed(failure, _attempt):
        _end_failed(db, calls[-1], gate, failure)

    answer = client.patiently(attempt, attempts=ATTEMPTS, seconds=PATIENCE, on_failure=failed, wait=wait)
    last = calls[-1]
    last.llm_latency_ms = answer.latency_ms
    last.cost_usd = None
    _note_usage(last, gate, Usage(answer.prompt_tokens, answer.completion_tokens, answer.cost_usd))
    return last, answer


def end_malformed(db: str, call: GateCall, answer: Answer, why: CallMalformed) -> None:
    """Store that the answer to a call was no decision, with what it was."""
    call.outcome, call.failure, call.reason = GateCall.Outcome.MALFORMED, str(why.kind), why.sentence
    call.raw_response = storing.kept_response(db, answer.text, call.session_id, call.turn_id)
    _save_failed(db, call)


def _row(gate, window, whose, attempt):
    prompt_tokens = gate.prompt_tokens(window)
    return GateCall(
        id=str(ULID()),
        turn_id=whose.turn_id,
        session_id=whose.session_id,
        replay_id=whose.replay_id,
        decision_id=whose.decision_id,
        origin=Origin.OWN,
        llm_model=gate.model,
        prompt_version=gate.prompt.version,
        window_hash=window.hash,
        attempt=attempt,
        outcome=GateCall.Outcome.SENT,
        reserved_tokens=prompt_tokens + MOST_ANSWER,
        cost_usd=gate.cost(prompt_tokens, MOST_ANSWER),  # the most: it stays when nobody hears what it was
        created_at=clock.now_ms(),
    )


def _end_failed(db, call, gate, failure: CallFailed):
    call.outcome, call.failure, call.reason = GateCall.Outcome.FAILED, str(failure.kind), failure.sentence
    call.llm_latency_ms = failure.latency_ms
    if failure.kind in UNSPOKEN:
        call.reserved_tokens, call.cost_usd = 0, None
    _note_usage(call, gate, failure.usage)
    call.raw_response = storing.kept_response(db, failure.body or None, call.session_id, call.turn_id)
    _save_failed(db, call)


def _note_usage(call, gate, used):
    """What the endpoint says that a call used; what it does not say stays as it is."""
    call.prompt_tokens, call.completion_tokens = used.prompt_tokens, used.completion_tokens
    if used.prompt_tokens is not None and used.completion_tokens is not None:
        call.reserved_tokens = used.prompt_tokens + used.completion_tokens
    cost = gate.cost(used.prompt_tokens, used.completion_tokens) if used.cost_usd is None else used.cost_usd
    call.cost_usd = call.cost_usd if cost is None else cost


def _save_failed(db, call):
    if call.replay_id is not None:  # those count nowhere
        call.save(using=db, force_update=True)
        return
    with writing.in_turn_of(db):  # written anew: a call that failed is counted where it is stored
        GateCall.objects.using(db).filter(id=call.id).delete()
        storing.store_calls(db, [call])
