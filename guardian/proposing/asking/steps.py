"""Calls of a model, each with a row that is committed before anything is sent; the limit of tokens for each UTC day.

What a call may use at most is taken from the limit in the transaction that stores its row, so no two processes take the
same tokens; once it has ended it is what the endpoint said. A call whose end nobody heard of keeps what was taken.
"""

from collections.abc import Callable
from typing import Any

import orjson
from django.db.models import Sum
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.llm import client
from openclaw_web.llm.client import Answer, CallFailed, Failure
from openclaw_web.llm.usage import Usage
from openclaw_web.sqlite import writing
from people.configuration import keys as configuration

from ...models import GuardianRun, GuardianStep
from . import prompts
from .guardians import Guardian
from .parsing import Wanted
from .tools import Done

SETTING = "writeGuardian.tokensPerDay"
ATTEMPTS = 3
PATIENCE = 120.0  # seconds after the first attempt in which another one begins
MOST_KEPT = 4_000  # characters of each text that a step keeps
# An endpoint that failed like this has not let the model speak: what was taken from the limit is given back.
UNSPOKEN = frozenset({Failure.unreachable, Failure.redirected, Failure.rate_limited, Failure.http_error})
Messages = list[dict[str, Any]]


class LimitReached(Refused):
    """A call would take more tokens than the limit of this day leaves."""


def used(db: str) -> int:
    """Tokens that calls of this UTC day have used, or may still use."""
    return _today(db).aggregate(sum=Sum("reserved_tokens"))["sum"] or 0


def cost_today(db: str) -> float | None:
    """US dollars that calls of this UTC day cost, as far as that is known; None when it is known of none."""
    return _today(db).aggregate(sum=Sum("cost_usd"))["sum"]


def left(db: str) -> int | None:
    """Tokens that this UTC day leaves; None without a limit."""
    limit = configuration.get(SETTING)
    return max(0, limit - used(db)) if limit else None


def ask(
    db: str,
    guardian: Guardian,
    run: GuardianRun,
    number: int,
    messages: Messages,
    most_answer: int,
    *,
    wait: Callable[[float], object],
) -> tuple[GuardianStep, Answer]:
    """What a model answers, asked up to three times, and the row of the last call, still `sent`.

    Raises LimitReached before a call that the limit of the day does not leave room for, and CallFailed when there is no
    answer: every call's row then says why.
    """
    tries: list[GuardianStep] = []

    def attempt():
        step = _row(guardian, run, number, len(tries) + 1, prompts.tokens(messages), most_answer)
        _reserve(db, step)
        tries.append(step)
        return guardian.ask(messages, most_answer)

    def failed(failure, _attempt):
        _end_failed(db, tries[-1], guardian, failure)

    answer = client.patiently(attempt, attempts=ATTEMPTS, seconds=PATIENCE, on_failure=failed, wait=wait)
    last = tries[-1]
    last.llm_latency_ms, last.cost_usd = answer.latency_ms, None
    _note_usage(last, guardian, Usage(answer.prompt_tokens, answer.completion_tokens, answer.cost_usd))
    return last, answer


def end(db: str, step: GuardianStep, one: Wanted, done: Done) -> None:
    """Store what a model wanted and what the tool answered; long texts are cut."""
    step.outcome, step.tool = GuardianStep.Outcome.ANSWERED, one.tool.encode("utf-8", "replace").decode()
    step.arguments_json, step.answer = _kept(one.arguments), _kept(done.told)
    step.save(using=db, force_update=True)


def _today(db):
    start, end = clock.today_ms()
    return GuardianStep.objects.using(db).filter(created_at__gte=start, created_at__lt=end)


def _row(guardian, run, number, attempt, prompt_tokens, most_answer):
    return GuardianStep(
        id=str(ULID()),
        run=run,
        number=number,
        attempt=attempt,
        outcome=GuardianStep.Outcome.SENT,
        reserved_tokens=prompt_tokens + most_answer,
        cost_usd=guardian.cost(prompt_tokens, most_answer),  # the most: it stays when nobody hears what it was
        created_at=clock.now_ms(),
    )


def _reserve(db, step):
    with writing.in_turn_of(db):
        room = left(db)
        if room is not None and step.reserved_tokens > room:
            raise LimitReached(_sentence(room))
        step.save(using=db, force_insert=True)


def _end_failed(db, step, guardian, failure: CallFailed):
    step.outcome, step.failure, step.reason = GuardianStep.Outcome.FAILED, str(failure.kind), failure.sentence
    step.llm_latency_ms = failure.latency_ms
    if failure.kind in UNSPOKEN:
        step.reserved_tokens, step.cost_usd = 0, None
    _note_usage(step, guardian, failure.usage)
    step.save(using=db, force_update=True)


def _note_usage(step, guardian, used_now):
    """What the endpoint says that a call used; what it does not say stays as it is."""
    step.prompt_tokens, step.completion_tokens = used_now.prompt_tokens, used_now.completion_tokens
    if used_now.prompt_tokens is not None and used_now.completion_tokens is not None:
        step.reserved_tokens = used_now.prompt_tokens + used_now.completion_tokens
    cost = guardian.cost(used_now.prompt_tokens, used_now.completion_tokens)
    cost = cost if used_now.cost_usd is None else used_now.cost_usd
    step.cost_usd = step.cost_usd if cost is None else cost


def _kept(values):
    """An object as JSON whose texts are cut, each with how long it was."""
    cut = {
        name: value if not isinstance(value, str) or len(value) <= MOST_KEPT else _cut(value)
        for name, value in values.items()
    }
    return orjson.dumps(cut).decode()


def _cut(text):
    return f"{text[:MOST_KEPT]}… ({len(text):,})"


def _sentence(room):
    words = _(
        "The limit of %(limit)s tokens a day is reached for this agent: the next call may use more than the %(room)s "
        "that are left. Run the guardian again after midnight UTC, or raise writeGuardian.tokensPerDay in the settings."
    )
    return words % {"limit": f"{configuration.get(SETTING):,}", "room": f"{room:,}"}
