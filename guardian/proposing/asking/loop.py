"""Asking about one fact, step by step: a model reads, and then writes or refuses, in so many steps at most."""

from collections.abc import Callable

from ...file_bytes import bytes_to_text
from ...models import GuardianRun
from . import parsing, prompts, steps
from .guardians import Guardian, most_answer
from .tools import End, Ended, Tools


def ask(db: str, guardian: Guardian, run: GuardianRun, tools: Tools, *, wait: Callable[[float], object]) -> Ended:
    """What a model makes of the fact of a run; the run's numbers are noted in it, not stored.

    `wait` is told how many seconds to let pass between two attempts. Raises LimitReached and CallFailed.
    """
    messages = prompts.opening(run.candidate_fact, run.target_file)
    most = most_answer(bytes_to_text(tools.held or b""))
    for number in range(1, guardian.most_steps + 1):
        step, answer = steps.ask(db, guardian, run, number, messages, most, wait=wait)
        run.step_count, run.llm_latency_ms = number, run.llm_latency_ms + answer.latency_ms
        one = parsing.wanted(answer)
        done = tools.carry_out(one)
        steps.end(db, step, one, done)
        if done.ended:
            return done.ended
        messages += parsing.echo(answer, one, done.told | {"stepsLeft": guardian.most_steps - number})
    return Ended(End.NOTHING)
