"""Asks a language model: one request to an endpoint as that of OpenAI, and an answer or why there is none."""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from . import answers, failures, headers, usage
from .answers import Answer as Answer
from .answers import ToolCall as ToolCall
from .endpoint import Endpoint, problem_of
from .failures import CallFailed as CallFailed
from .failures import Failure as Failure
from .masking import masked
from .usage import NOTHING_KNOWN, Usage

if TYPE_CHECKING:
    from .exchange import Exchange

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds at most before the second attempt, and before any other
_chance = random.SystemRandom()


def ask(
    endpoint: Endpoint,
    *,
    model: str,
    messages: Sequence[dict[str, Any]],
    max_tokens: int,
    seconds: float,
    tools: Sequence[dict[str, Any]] = (),
) -> Answer:
    """What a model answers, asked once and within so many seconds altogether. Raises CallFailed and nothing else.

    `tools` are declarations of functions; an answer that wants some of them used is one only where there are any.
    """
    if problem := problem_of(endpoint):
        raise CallFailed(Failure.unreachable, problem, is_final=True)
    from . import exchange  # httpx takes a quarter of a second, which is for those who ask

    began = time.monotonic()
    question = {"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": False}
    if tools:
        question["tools"] = tools
    found = exchange.post(endpoint, "/chat/completions", json.dumps(question).encode(), seconds)
    latency_ms = int((time.monotonic() - began) * 1000)
    body = masked(found.body.decode(errors="replace"), endpoint.key)
    kind, text, name, used, calls = _understood(found, model, endpoint.key)
    if kind is None or (kind == Failure.no_answer and tools and calls):
        return Answer(text, name, used.prompt_tokens, used.completion_tokens, used.cost_usd, latency_ms, body, calls)
    raise CallFailed(
        kind,
        failures.sentence(kind, endpoint, status=found.status, cause=found.cause, seconds=seconds),
        status=found.status,
        body=body,
        latency_ms=latency_ms,
        retry_after=headers.retry_after(found.headers.get("retry-after", "")),
        is_final=failures.is_final(kind, found.status, found.cause),
        usage=used,
    )


def patiently(
    call: Callable[[], T],
    *,
    attempts: int,
    seconds: float,
    on_failure: Callable[[CallFailed, int], object],
    wait: Callable[[float], object] = time.sleep,
) -> T:
    """What `call` returns, tried so many times at most; no attempt begins later than `seconds` after the first.

    `on_failure` is told of each failure with the number of the attempt, from 1, before anything else happens. Failures
    that are final are not tried again. A pause is what the endpoint asked for and a random part of a bound that
    doubles, so that many callers do not come back at once. Raises the last CallFailed.
    """
    ends = time.monotonic() + seconds
    attempt = 1
    while True:
        try:
            return call()
        except CallFailed as failure:
            on_failure(failure, attempt)
            pause = (failure.retry_after or 0) + _jitter(attempt)
            if failure.is_final or attempt >= attempts or time.monotonic() + pause > ends:
                raise
        wait(pause)
        attempt += 1


def _jitter(attempt: int) -> float:
    return _chance.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt - 1, 10)))


def _understood(
    found: "Exchange", model: str, key: str
) -> tuple[Failure | None, str, str, Usage, tuple[answers.ToolCall, ...]]:
    """Why there is no text, None when there is one; it, the name of its model, what it used, and the tools it wants."""
    kind = (failures.of_status(found.status) if found.status else None) or found.failure
    try:
        value = None if kind else answers.loads(found.body)
    except answers.NotJson:
        is_json = headers.is_json(found.headers.get("content-type", ""))
        return Failure.not_json if is_json else Failure.wrong_type, "", model, NOTHING_KNOWN, ()
    text = answers.text_of(value)
    if kind is None and text is None:
        kind = Failure.no_answer
    calls = tuple(replace(one, arguments=masked(one.arguments, key)) for one in answers.calls_of(value))
    return kind, masked(text or "", key), masked(answers.model_of(value, model), key), usage.of(value), calls
