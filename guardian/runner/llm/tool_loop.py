"""Asks the model about one fact, step by step, until it writes or refuses.

The number of steps is limited. Each call is stored as a step, with the tool that the model called and the answer.
"""

from collections.abc import Callable
from typing import Any

from agents.runners import calls
from agents.runners.calls import ModelRequest, Wait
from openclaw_web.llm.client import Answer
from openclaw_web.sqlite.json_columns import encode

from ...file_bytes import bytes_to_text
from ...models import GuardianRun, GuardianStep
from . import answer_parsing, prompts
from .answer_parsing import ToolCall
from .config import RUNNER, Guardian, compute_answer_limit
from .tools import End, FactResult, ToolResult, Tools

MOST_KEPT = 4_000  # characters of each text that a step keeps
Messages = list[dict[str, Any]]


def run_tool_loop(
    db: str, guardian: Guardian, run: GuardianRun, tools: Tools, *, wait: Callable[[float], object]
) -> FactResult:
    """Ask a model about the fact of a run and return the result.

    The run's numbers are set, not stored. `wait` is called with the seconds to wait between two attempts. Raises
    LimitReached and CallFailed.
    """
    messages = prompts.build_opening(run.candidate_fact, run.target_file)
    most = compute_answer_limit(bytes_to_text(tools.target_content or b""))
    for number in range(1, guardian.most_steps + 1):
        step, answer = ask_model(db, guardian, run, number, messages, most, wait=wait)
        run.step_count, run.llm_latency_ms = number, run.llm_latency_ms + answer.latency_ms
        tool_call = answer_parsing.parse_answer(answer)
        tool_result = tools.run_tool(tool_call)
        store_step(db, step, tool_call, tool_result)
        if tool_result.result:
            return tool_result.result
        messages += answer_parsing.build_reply_messages(
            answer, tool_call, tool_result.answer | {"stepsLeft": guardian.most_steps - number}
        )
    return FactResult(End.NOTHING)


def ask_model(
    db: str, guardian: Guardian, run: GuardianRun, number: int, messages: Messages, most_answer: int, *, wait: Wait
) -> tuple[GuardianStep, Answer]:
    """Ask the model; return the step, still `sent`, and the answer.

    Raises LimitReached and CallFailed.
    """
    request = ModelRequest(
        row=lambda columns: GuardianStep(run=run, number=number, **columns),
        send=lambda: guardian.ask(messages, most_answer),
        cost=guardian.cost,
        prompt_tokens=prompts.estimate_tokens(messages),
        most_answer=most_answer,
        save_failed=lambda step, _failure: step.save(using=db, force_update=True),
    )
    return calls.send_request(RUNNER.allowance, db, request, wait=wait)


def store_step(db: str, step: GuardianStep, tool_call: ToolCall, tool_result: ToolResult) -> None:
    """Store the model's tool call and the tool's answer; long texts are cut."""
    step.outcome, step.tool = GuardianStep.Outcome.ANSWERED, tool_call.tool.encode("utf-8", "replace").decode()
    step.arguments, step.answer = _cut_texts(tool_call.arguments), encode(_cut_texts(tool_result.answer))
    step.save(using=db, force_update=True)


def _cut_texts(values):
    """Return an object whose long texts are cut, each with its length."""
    return {
        name: value if not isinstance(value, str) or len(value) <= MOST_KEPT else _cut(value)
        for name, value in values.items()
    }


def _cut(text):
    return f"{text[:MOST_KEPT]}… ({len(text):,})"
