"""Asks a language model: one request to an endpoint as that of OpenAI, and an answer or why there is none."""

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

HIDDEN = "…"


_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


_JSON = re.compile(r"[\w!#$&^.+-]+/(?:[\w!#$&^.+-]+\+)?json", re.ASCII)


if TYPE_CHECKING:
    from .exchange import Exchange

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds at most before the second attempt, and before any other
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
    body = mask_key(found.body.decode(errors="replace"), endpoint.key)
    kind, text, name, used, calls = _understood(found, model, endpoint.key)
    if kind is None or (kind == Failure.no_answer and tools and calls):
        return Answer(text, name, used.prompt_tokens, used.completion_tokens, used.cost_usd, latency_ms, body, calls)
    raise CallFailed(
        kind,
        failures.describe_failure(kind, endpoint, status=found.status, cause=found.cause, seconds=seconds),
        status=found.status,
        body=body,
        latency_ms=latency_ms,
        retry_after=parse_retry_after(found.headers.get("retry-after", "")),
        is_final=failures.is_final(kind, found.status, found.cause),
        usage=used,
    )


def call_with_retries(
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
    kind = (failures.from_status(found.status) if found.status else None) or found.failure
    try:
        value = None if kind else answers.loads(found.body)
    except answers.NotJson:
        is_json = is_json_type(found.headers.get("content-type", ""))
        return Failure.not_json if is_json else Failure.wrong_type, "", model, NOTHING_KNOWN, ()
    text = answers.read_text(value)
    if kind is None and text is None:
        kind = Failure.no_answer
    calls = tuple(replace(one, arguments=mask_key(one.arguments, key)) for one in answers.read_tool_calls(value))
    return (
        kind,
        mask_key(text or "", key),
        mask_key(answers.read_model(value, model), key),
        usage.read_usage(value),
        calls,
    )


def is_json_type(content_type: str) -> bool:
    """Whether a content type is that of JSON; one that is missing may be."""
    name = content_type.partition(";")[0].strip().lower()
    return not name or bool(_JSON.fullmatch(name))


def parse_retry_after(value: str) -> float | None:
    """How many seconds to wait, from `Retry-After`: a number or a date; None when it is neither."""
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - clock.now_ms() / 1000
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def mask_key(text: str, key: str) -> str:
    """A text without the key, also where JSON spells its characters as `\\u0041` or `\\/`."""
    if not key:
        return text
    return re.sub("".join(map(_spellings, key)), HIDDEN, text)


def _spellings(character: str) -> str:
    return rf"(?:{re.escape(character)}|\\{re.escape(character)}|\\u(?i:{ord(character):04x}))"
