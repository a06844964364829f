"""How a runner of an agent stands: what its page and the API show."""

from dataclasses import dataclass
from typing import Any

from jobs.models import JobRun

from ..models import Agent
from . import launch
from .runner import LanguageModel, Runner
from .switches import Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerStatus:
    """Who is asked, why nothing may be sent (empty: something may), what this UTC day has used, and the latest runs."""

    model: LanguageModel
    problem: str
    tokens_today: int
    cost_today: float | None
    limit: int
    left: int | None
    runs: list[JobRun]

    def as_json(self) -> dict[str, Any]:
        """What the API says of every runner."""
        return {
            "problem": self.problem,
            "host": self.model.endpoint.host,
            "model": self.model.model,
            "prompt_version": self.model.prompt_version,
            "tokens_today": self.tokens_today,
            "cost_today": self.cost_today,
            "limit_today": self.limit,
            "left_today": self.left,
            "runs": self.runs,
        }


def read_runner_status(runner: Runner, agent: Agent, model: LanguageModel, problem: str) -> dict[str, Any]:
    """What follows from the settings, the calls of this UTC day and the jobs."""
    limit, used = runner.allowance.limit, runner.allowance.used(agent.db)
    return {
        "model": model,
        "problem": problem,
        "tokens_today": used,
        "limit": limit,
        "left": max(0, limit - used) if limit else None,
        "runs": launch.find_latest_jobs(runner, agent),
    }


def switch_as_json(switched: Switch | None) -> dict[str, Any]:
    """Whether something is on, as the API says it."""
    if switched is None:
        return {"is_on": False, "since": None, "by": None, "host": None}
    return {"is_on": True, "since": switched.since, "by": switched.by, "host": switched.host}
