"""Calls of a model, stored before they are sent, and the daily limit of tokens.

The most that a call may use is taken from the limit (`reserved_tokens`) in the transaction that stores its row, so no
two processes take the same tokens. When the call has ended, the row has the endpoint's numbers. A call whose end is not
known keeps its reserved tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model, Sum
from django.utils.functional import Promise
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.llm import client
from openclaw_web.llm.client import Answer, CallFailed, Failure
from openclaw_web.llm.usage import Usage
from openclaw_web.sqlite import write_queue
from people.configuration import setting_values as configuration

ATTEMPTS = 3
RETRY_SECONDS = 120.0  # seconds after the first attempt in which another one may begin
# After such a failure the model has not run: its reserved tokens are given back.
UNUSED_FAILURES = frozenset({Failure.unreachable, Failure.redirected, Failure.rate_limited, Failure.http_error})
Cost = Callable[[int | None, int | None], float | None]
Wait = Callable[[float], object]


class LimitReached(Refused):
    """A call would take more tokens than the limit of this day leaves."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The tokens of a UTC day and agent; of all agents where the table of calls is in the global file (`is_global`).

    `setting` has the limit, `calls` is the table of calls, `reached` the text of a refusal, with places for the limit
    and for the remaining tokens.
    """

    setting: str
    calls: type[Model]
    reached: str | Promise
    is_global: bool = False

    @property
    def limit(self) -> int:
        """Tokens that are allowed in a day; 0 without a limit."""
        return configuration.get_number(self.setting)

    def used_tokens(self, db: str) -> int:
        """Tokens that calls of this UTC day have used, or may still use."""
        return self._sum_today(db, "reserved_tokens") or 0

    def cost_today(self, db: str) -> float | None:
        """US dollars that calls of this UTC day cost; None when no cost is known.

        Calls of unknown cost are not included.
        """
        return self._sum_today(db, "cost_usd")

    def remaining_tokens(self, db: str) -> int | None:
        """Tokens that remain of this UTC day's limit; None without a limit."""
        return max(0, limit - self.used_tokens(db)) if (limit := self.limit) else None

    def check(self, db: str, tokens: int) -> None:
        """Raises LimitReached when a call may use more tokens than remain today.

        Must be called in the transaction that stores the call.
        """
        remaining = self.remaining_tokens(db)
        if remaining is not None and tokens > remaining:
            raise LimitReached(str(self.reached) % {"limit": f"{self.limit:,}", "room": f"{remaining:,}"})

    def _sum_today(self, db, column):
        start, end = clock.today_ms()
        calls = self.calls._default_manager.using(DEFAULT_DB_ALIAS if self.is_global else db)
        today = calls.filter(created_at__gte=start, created_at__lt=end)
        return today.aggregate(sum=Sum(column))["sum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request of a model, sent up to three times, each time with its own row.

    `row` builds the row of a call from the columns that all calls have. `keep` stores rows that it refers to, in its
    transaction. `save_failed` stores the row of a call without an answer, and the text that was answered instead.
    """

    row: Callable[[dict[str, Any]], Any]
    send: Callable[[], Answer]
    cost: Cost
    prompt_tokens: int
    most_answer: int
    save_failed: Callable[[Any, CallFailed], None]
    keep: Callable[[], None] = lambda: None


def send_request(allowance: Allowance, db: str, request: ModelRequest, *, wait: Wait) -> tuple[Any, Answer]:
    """Send a request to a model, and return the last call's row and the answer.

    The row's outcome is still `sent`. `wait` lets so many seconds pass between two attempts. Raises LimitReached before
    a call that needs more than the limit of the day leaves, and CallFailed when there is no answer: each call's row
    then has the reason.
    """
    calls: list[Any] = []

    def attempt():
        call = request.row(_build_columns(request, len(calls) + 1))
        with write_queue.agent_transaction(db):
            allowance.check(db, call.reserved_tokens)
            request.keep()
            call.save(using=db, force_insert=True)
        calls.append(call)
        return request.send()

    def end_failed(failure, _attempt):
        _set_failure(calls[-1], request.cost, failure)
        request.save_failed(calls[-1], failure)

    answer = client.call_with_retries(
        attempt, attempts=ATTEMPTS, seconds=RETRY_SECONDS, on_failure=end_failed, wait=wait
    )
    last = calls[-1]
    last.llm_latency_ms, last.cost_usd = answer.latency_ms, None
    _set_usage(last, request.cost, Usage(answer.prompt_tokens, answer.completion_tokens, answer.cost_usd))
    return last, answer


def _build_columns(request, attempt):
    return {
        "id": str(ULID()),
        "attempt": attempt,
        "outcome": "sent",
        "reserved_tokens": request.prompt_tokens + request.most_answer,
        # The most that it may cost: this stays when the end of the call is not known.
        "cost_usd": request.cost(request.prompt_tokens, request.most_answer),
        "created_at": clock.now_ms(),
    }


def _set_failure(call, cost: Cost, failure: CallFailed):
    call.outcome, call.failure, call.reason = "failed", str(failure.kind), failure.sentence
    call.llm_latency_ms = failure.latency_ms
    if failure.kind in UNUSED_FAILURES:
        call.reserved_tokens, call.cost_usd = 0, None
    _set_usage(call, cost, failure.usage)


def _set_usage(call, cost: Cost, usage: Usage):
    """Store the usage that the endpoint reports; other columns do not change."""
    call.prompt_tokens, call.completion_tokens = usage.prompt_tokens, usage.completion_tokens
    if usage.prompt_tokens is not None and usage.completion_tokens is not None:
        call.reserved_tokens = usage.prompt_tokens + usage.completion_tokens
    dollars = cost(usage.prompt_tokens, usage.completion_tokens) if usage.cost_usd is None else usage.cost_usd
    call.cost_usd = call.cost_usd if dollars is None else dollars
