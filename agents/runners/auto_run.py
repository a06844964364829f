"""Scheduled jobs that run a runner on new items of agents whose switch is on.

An item is what the runner asks about: a turn, a fact. The job looks back a week at most. An item that a model was asked
about three times without an answer is left to runs that people start; after a run that ended early the job pauses for a
quarter of an hour.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.kinds import DAY_MS, MINUTE_MS, Schedule
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused

from .. import databases
from ..models import Agent
from . import switches
from .runner import Runner
from .switches import Switch

LOOK_BACK_MS = 7 * DAY_MS
PAUSE_MS = 15 * MINUTE_MS
GIVE_UP_AFTER = 3  # attempts at one item
SECONDS = 300  # after which a run begins no other item, so that other jobs can run
MayGoOn = Callable[[], bool]
Results = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoRun:
    """The scheduled run of a runner.

    `model` returns the model that is asked. `choose(model, agent, switches, since, most)` returns the waiting items of
    an agent, the oldest first and none from before `since` (milliseconds). `handle(model, agent, items, progress,
    may_go_on)` asks about them and returns a result, in which `count` is the name of the number of handled items.
    `message` describes the results of all agents.
    """

    kind: str  # of its job
    runner: Runner
    model: Callable[[], Any]
    choose: Callable[[Any, Agent, dict[str, Switch], int, int | None], Sequence[Any]]
    handle: Callable[[Any, Agent, Sequence[Any], Progress, MayGoOn], dict[str, Any]]
    count: str
    message: Callable[[Results, str], str]

    @property
    def every(self) -> Schedule:
        """Return the schedule on which waiting items are looked for."""
        return Schedule(self.runner.enabled, MINUTE_MS, dict, lambda: is_possible(self), is_switch=True)

    def run(self, params: dict[str, Any], progress: Progress) -> dict[str, Any]:
        """Run the job.

        Raises Refused when nothing may be sent, and when no question was answered.
        """
        self.runner.check()
        started, model = time.monotonic(), self.model()
        results: Results = []
        for agent_id, agent_switches in switches.read_all_switches(self.runner).items():

            def may_go_on(agent_id=agent_id):
                return time.monotonic() - started < SECONDS and bool(
                    switches.read_agent_switches(self.runner, agent_id)
                )

            if may_go_on() and (result := _run_agent(self, model, agent_id, agent_switches, progress, may_go_on)):
                results.append(result)
                if result["failure"]:
                    break
        stopped = " ".join(result["stopped"] for result in results if result["stopped"])
        if stopped and not any(result[self.count] for result in results):
            raise Refused(stopped)
        return {"message": self.message(results, stopped), "stopped": stopped, "agents": results}


def is_possible(automatic: AutoRun) -> bool:
    """Return whether an item waits that may be asked about now."""
    runner = automatic.runner
    switches.correct_future_times(runner)
    runner_switches = switches.read_all_switches(runner)
    if not runner_switches or runner.problem_of() or _is_pausing(automatic.kind):
        return False
    model = automatic.model()
    return any(
        _find_waiting(automatic, model, agent_id, switched, max_items=1)
        for agent_id, switched in runner_switches.items()
    )


def _run_agent(automatic, model, agent_id, agent_switches, progress, may_go_on):
    """Return the result for an agent's new items.

    None when there are none, or when another process runs for the agent.
    """
    with locks.lock(automatic.runner.lock_name(agent_id), wait=False) as is_ours:
        if not is_ours or not (items := _find_waiting(automatic, model, agent_id, agent_switches)):
            return None
        agent = Agent.objects.get(agent_id=agent_id)
        return automatic.handle(model, agent, items, progress, may_go_on)


def _find_waiting(automatic, model, agent_id, agent_switches, max_items=None):
    """Return the waiting items of an agent.

    Empty when its limit is reached, or its files cannot be used.
    """
    agent = Agent.objects.filter(agent_id=agent_id).first()
    if agent is None:
        return []
    try:
        room = automatic.runner.allowance.remaining_tokens(databases.get_alias(agent_id))
        if room is not None and room < model.least_tokens:
            return []
        return automatic.choose(model, agent, agent_switches, clock.now_ms() - LOOK_BACK_MS, max_items)
    except (databases.UnusableAgent, Refused):
        return []


def _is_pausing(kind):
    last = JobRun.objects.filter(kind=kind).order_by("-created_at", "-id").first()
    if last is None or last.finished_at is None or not clock.is_recent(last.finished_at, PAUSE_MS):
        return False
    return last.state != JobRun.State.FINISHED or bool(last.result.get("stopped"))
