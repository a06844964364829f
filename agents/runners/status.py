"""Status of a runner for an agent, for its page and the API."""

from dataclasses import dataclass
from typing import Any

from jobs.models import JobRun

from ..models import Agent
from . import launch
from .runner import LanguageModel, Runner
from .switches import Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerStatus:
    """The model, today's use, and the latest runs of a runner.

    `problem` says why nothing may be sent; it is empty when something may. The numbers are of this UTC day.
    """

    model: LanguageModel
    problem: str
    tokens_today: int
    cost_today: float | None
    limit: int
    remaining_tokens: int | None
    runs: list[JobRun]

    def as_json(self) -> dict[str, Any]:
        """Return the values that the API of every runner has."""
        return {
            "problem": self.problem,
            "host": self.model.endpoint.host,
            "model": self.model.model,
            "prompt_version": self.model.prompt_version,
            "tokens_today": self.tokens_today,
            "cost_today": self.cost_today,
            "limit_today": self.limit,
            "left_today": self.remaining_tokens,
            "runs": self.runs,
        }


def read_runner_status(runner: Runner, agent: Agent, model: LanguageModel, problem: str) -> dict[str, Any]:
    """Return the values of a status: from the settings, today's calls and the jobs."""
    limit, used = runner.allowance.limit, runner.allowance.used_tokens(agent.db)
    return {
        "model": model,
        "problem": problem,
        "tokens_today": used,
        "limit": limit,
        "remaining_tokens": max(0, limit - used) if limit else None,
        "runs": launch.find_latest_jobs(runner, agent),
    }


def switch_as_json(switched: Switch | None) -> dict[str, Any]:
    """Return the state of a switch as the API has it."""
    if switched is None:
        return {"is_on": False, "since": None, "by": None, "host": None}
    return {"is_on": True, "since": switched.since, "by": switched.by, "host": switched.host}
