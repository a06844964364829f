"""Steps of a model on its way to a file: calls, each with a row, and what was wanted and answered in it."""

from typing import Any

from agents.runners import calls
from agents.runners.calls import ModelRequest, Wait
from openclaw_web.llm.client import Answer
from openclaw_web.sqlite.json_columns import encode

from ...models import GuardianRun, GuardianStep
from . import prompts
from .answer_parsing import ToolCall
from .config import RUNNER, Guardian
from .tools import ToolResult

MOST_KEPT = 4_000  # characters of each text that a step keeps
Messages = list[dict[str, Any]]


def ask(
    db: str, guardian: Guardian, run: GuardianRun, number: int, messages: Messages, most_answer: int, *, wait: Wait
) -> tuple[GuardianStep, Answer]:
    """What a model answers, and the row of the last call, still `sent`. Raises LimitReached and CallFailed."""
    request = ModelRequest(
        row=lambda columns: GuardianStep(run=run, number=number, **columns),
        send=lambda: guardian.ask(messages, most_answer),
        cost=guardian.cost,
        prompt_tokens=prompts.estimate_tokens(messages),
        most_answer=most_answer,
        save_failed=lambda step, _failure: step.save(using=db, force_update=True),
    )
    return calls.send_request(RUNNER.allowance, db, request, wait=wait)


def end(db: str, step: GuardianStep, one: ToolCall, done: ToolResult) -> None:
    """Store what a model wanted and what the tool answered; long texts are cut."""
    step.outcome, step.tool = GuardianStep.Outcome.ANSWERED, one.tool.encode("utf-8", "replace").decode()
    step.arguments, step.answer = _kept(one.arguments), encode(_kept(done.answer))
    step.save(using=db, force_update=True)


def _kept(values):
    """An object whose texts are cut, each with how long it was."""
    return {
        name: value if not isinstance(value, str) or len(value) <= MOST_KEPT else _cut(value)
        for name, value in values.items()
    }


def _cut(text):
    return f"{text[:MOST_KEPT]}… ({len(text):,})"
