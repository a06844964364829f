"""Asks a language model at an OpenAI-compatible endpoint, with one request per call.

It also reads the headers of an answer, and hides the key of the endpoint wherever an answer repeats it.
"""

import json
import math
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar

from .. import clock
from . import answers, failures, usage
from .answers import Answer as Answer
from .answers import ToolCall as ToolCall
from .endpoint import Endpoint, problem_of
from .failures import CallFailed as CallFailed
from .failures import Failure as Failure
from .usage import NOTHING_KNOWN, Usage

if TYPE_CHECKING:
    from .exchange import Exchange

T = TypeVar("T")

HIDDEN = "…"
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_JSON = re.compile(r"[\w!#$&^.+-]+/(?:[\w!#$&^.+-]+\+)?json", re.ASCII)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # the longest pause before the second attempt, and before later ones, in seconds
_chance = random.SystemRandom()


def ask_model(
    endpoint: Endpoint,
    *,
    model: str,
    messages: Sequence[dict[str, Any]],
    max_tokens: int,
    seconds: float,
    tools: Sequence[dict[str, Any]] = (),
) -> Answer:
    """Ask a model once, within `seconds` altogether. Raises only CallFailed.

    `tools` are declarations of functions. An answer of tool calls without text is an Answer only when tools were
    offered.
    """
    if problem := problem_of(endpoint):
        raise CallFailed(Failure.unreachable, problem, is_final=True)
    from . import exchange  # importing httpx takes a quarter of a second

    began = time.monotonic()
    request = {"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": False}
    if tools:
        request["tools"] = tools
    outcome = exchange.post(endpoint, "/chat/completions", json.dumps(request).encode(), seconds)
    latency_ms = int((time.monotonic() - began) * 1000)
    body = mask_key(outcome.body.decode(errors="replace"), endpoint.key)
    kind, text, name, usage_of_call, calls = _read_outcome(outcome, model, endpoint.key)
    if kind is None or (kind == Failure.no_answer and tools and calls):
        return Answer(
            text,
            name,
            usage_of_call.prompt_tokens,
            usage_of_call.completion_tokens,
            usage_of_call.cost_usd,
            latency_ms,
            body,
            calls,
        )
    sentence = failures.describe_failure(kind, endpoint, status=outcome.status, cause=outcome.cause, seconds=seconds)
    raise _build_failure(kind, sentence, outcome, body=body, latency_ms=latency_ms, usage=usage_of_call)


def _build_failure(kind, sentence, outcome, **measured):
    """The failure of a call; `measured` is its answer's body, its latency and its usage."""
    return CallFailed(
        kind,
        sentence,
        status=outcome.status,
        retry_after=parse_retry_after(outcome.headers.get("retry-after", "")),
        is_final=failures.is_final(kind, outcome.status, outcome.cause),
        **measured,
    )


def call_with_retries(
    call: Callable[[], T],
    *,
    attempts: int,
    seconds: float,
    on_failure: Callable[[CallFailed, int], object],
    wait: Callable[[float], object] = time.sleep,
) -> T:
    """Return the result of `call`, which is tried up to `attempts` times.

    No attempt begins later than `seconds` after the first.

    `on_failure` gets each failure with the number of the attempt, from 1, before anything else happens. Final failures
    are not tried again. A pause is the time that the endpoint asks for plus a random part of a bound that doubles, so
    that many callers do not come back at once. Raises the last CallFailed.
    """
    deadline = time.monotonic() + seconds
    attempt = 1
    while True:
        try:
            return call()
        except CallFailed as failure:
            on_failure(failure, attempt)
            jitter = _chance.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt - 1, 10)))
            pause = (failure.retry_after or 0) + jitter
            if failure.is_final or attempt >= attempts or time.monotonic() + pause > deadline:
                raise
        wait(pause)
        attempt += 1


def _read_outcome(
    outcome: "Exchange", model: str, key: str
) -> tuple[Failure | None, str, str, Usage, tuple[answers.ToolCall, ...]]:
    """The failure or None, the text, the model's name, the usage and the tool calls."""
    kind = (failures.from_status(outcome.status) if outcome.status else None) or outcome.failure
    try:
        value = None if kind else answers.loads(outcome.body)
    except answers.NotJson:
        is_json = is_json_type(outcome.headers.get("content-type", ""))
        return Failure.not_json if is_json else Failure.wrong_type, "", model, NOTHING_KNOWN, ()
    text = answers.read_text(value)
    if kind is None and text is None:
        kind = Failure.no_answer
    calls = tuple(replace(call, arguments=mask_key(call.arguments, key)) for call in answers.read_tool_calls(value))
    return (
        kind,
        mask_key(text or "", key),
        mask_key(answers.read_model(value, model), key),
        usage.read_usage(value),
        calls,
    )


def is_json_type(content_type: str) -> bool:
    """Whether a content type is JSON; an empty one may be."""
    name = content_type.partition(";")[0].strip().lower()
    return not name or bool(_JSON.fullmatch(name))


def parse_retry_after(value: str) -> float | None:
    """Parse `Retry-After`, a number or a date, into seconds; None when it is neither."""
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - clock.now_ms() / 1000
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def mask_key(text: str, key: str) -> str:
    """Replace the key in a text.

    JSON may spell its characters as `\\u0041` or `\\/`: those spellings are replaced too.
    """
    if not key:
        return text
    return re.sub("".join(map(_spellings, key)), HIDDEN, text)


def _spellings(character: str) -> str:
    return rf"(?:{re.escape(character)}|\\{re.escape(character)}|\\u(?i:{ord(character):04x}))"
