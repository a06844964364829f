"""New things of agents whose switch is on: a job that starts when there are some, without anybody asking.

It looks back a week at most. A thing that a model was asked about three times in vain is left to whoever starts a run
by hand; after a run that ended early nobody is asked for a quarter of an hour.
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

BACK_MS = 7 * DAY_MS
PAUSE_MS = 15 * MINUTE_MS
GIVE_UP_AFTER = 3  # attempts at one thing
SECONDS = 300  # after which a run begins with nothing more, so that other jobs get their turn
MayGoOn = Callable[[], bool]
Results = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoRun:
    """What a runner does by itself.

    `model` is who is asked. `choose(model, agent, switches, since, most)` gives what waits of an agent, the oldest
    first and nothing from before `since`. `handle(model, agent, things, progress, may_go_on)` gives the result of
    asking about it, in which `count` names how many things came to something. `message` says it of all agents.
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
        """How often it is looked whether it has anything to do."""
        return Schedule(self.runner.enabled, MINUTE_MS, dict, lambda: is_possible(self), is_switch=True)

    def run(self, params: dict[str, Any], progress: Progress) -> dict[str, Any]:
        """The job. Raises Refused when nothing may be sent, and when a model gave no answer about anything."""
        self.runner.check()
        began, model = time.monotonic(), self.model()
        results: Results = []
        for agent_id, on in switches.read_all_switches(self.runner).items():

            def may_go_on(agent_id=agent_id):
                return time.monotonic() - began < SECONDS and bool(switches.read_agent_switches(self.runner, agent_id))

            if may_go_on() and (result := _handle(self, model, agent_id, on, progress, may_go_on)):
                results.append(result)
                if result["failure"]:
                    break
        return _summary(self, results)


def is_possible(automatic: AutoRun) -> bool:
    """Whether something waits, and nothing speaks against asking about it."""
    runner = automatic.runner
    switches.correct_future_times(runner)
    on = switches.read_all_switches(runner)
    if not on or runner.problem_of() or _is_pausing(automatic.kind):
        return False
    model = automatic.model()
    return any(_waiting(automatic, model, agent_id, switched, most=1) for agent_id, switched in on.items())


def _handle(automatic, model, agent_id, on, progress, may_go_on):
    """What became of the new things of an agent; None when there were none, or somebody else is at them."""
    with locks.lock(automatic.runner.lock_of(agent_id), wait=False) as is_ours:
        if not is_ours or not (things := _waiting(automatic, model, agent_id, on)):
            return None
        agent = Agent.objects.get(agent_id=agent_id)
        return automatic.handle(model, agent, things, progress, may_go_on)


def _waiting(automatic, model, agent_id, on, most=None):
    """What waits of an agent; nothing of one whose limit is reached, or whose files cannot be used."""
    agent = Agent.objects.filter(agent_id=agent_id).first()
    if agent is None:
        return []
    try:
        room = automatic.runner.allowance.left(databases.get_alias(agent_id))
        if room is not None and room < model.least_tokens:
            return []
        return automatic.choose(model, agent, on, clock.now_ms() - BACK_MS, most)
    except (databases.UnusableAgent, Refused):
        return []


def _is_pausing(kind):
    last = JobRun.objects.filter(kind=kind).order_by("-created_at", "-id").first()
    if last is None or last.finished_at is None or not clock.is_recent(last.finished_at, PAUSE_MS):
        return False
    return last.state != JobRun.State.FINISHED or bool(last.result.get("stopped"))


def _summary(automatic, results):
    stopped = " ".join(result["stopped"] for result in results if result["stopped"])
    if stopped and not any(result[automatic.count] for result in results):
        raise Refused(stopped)
    return {"message": automatic.message(results, stopped), "stopped": stopped, "agents": results}
