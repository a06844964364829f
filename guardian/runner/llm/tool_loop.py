"""Asking about one fact, step by step: a model reads, and then writes or refuses, in so many steps at most."""

from collections.abc import Callable

from ...file_bytes import bytes_to_text
from ...models import GuardianRun
from . import answer_parsing, prompts, steps
from .config import Guardian, compute_answer_limit
from .tools import End, FactResult, Tools


def run_tool_loop(
    db: str, guardian: Guardian, run: GuardianRun, tools: Tools, *, wait: Callable[[float], object]
) -> FactResult:
    """What a model makes of the fact of a run; the run's numbers are noted in it, not stored.

    `wait` is told how many seconds to let pass between two attempts. Raises LimitReached and CallFailed.
    """
    messages = prompts.build_opening(run.candidate_fact, run.target_file)
    most = compute_answer_limit(bytes_to_text(tools.held or b""))
    for number in range(1, guardian.most_steps + 1):
        step, answer = steps.ask(db, guardian, run, number, messages, most, wait=wait)
        run.step_count, run.llm_latency_ms = number, run.llm_latency_ms + answer.latency_ms
        one = answer_parsing.parse_answer(answer)
        done = tools.run_tool(one)
        steps.end(db, step, one, done)
        if done.result:
            return done.result
        messages += answer_parsing.build_reply_messages(
            answer, one, done.answer | {"stepsLeft": guardian.most_steps - number}
        )
    return FactResult(End.NOTHING)
