"""New facts for files that are written unattended: a job that starts when there are some.

It looks back a week at most. A fact about which three runs stopped is left to whoever runs the guardian by hand; after
a run that ended early nobody is asked for a quarter of an hour. What the limits refuse becomes a proposal.
"""

import time
from dataclasses import replace
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents.models import Agent
from jobs.kinds import BY_ITSELF, DAY_MS, MINUTE_MS, Every, Kind
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused

from . import facts, running, switch
from .asking import guardians, prompts, steps
from .facts import Asked, Chosen
from .memory import Memory
from .running import Walk
from .switch import Switched

KIND = "guardian_new_facts"
BACK_MS = 7 * DAY_MS
PAUSE_MS = 15 * MINUTE_MS
GIVE_UP_AFTER = 3  # runs about one fact
SECONDS = 300  # after which a run begins with no more facts, so that other jobs get their turn


def is_possible() -> bool:
    """Whether there is a fact to write down, and nothing speaks against it."""
    switch.settle_times()
    on = switch.all_on()
    if not on or guardians.problem_of() or _is_pausing():
        return False
    return any(_waiting(agent_id, files, most=1).decisions for agent_id, files in on.items())


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The job. Raises Refused when nothing may be sent, and when a model gave no answer about any fact."""
    began, guardian = time.monotonic(), guardians.in_force()
    found = []
    for agent_id, files in switch.all_on().items():

        def may_go_on(agent_id=agent_id):
            return time.monotonic() - began < SECONDS and bool(switch.of_agent(agent_id))

        if may_go_on() and (result := _handle(agent_id, files, guardian, progress, may_go_on)):
            found.append(result)
            if result["failure"]:
                break
    return _told(found)


def _handle(agent_id, files, guardian, progress, may_go_on):
    """What became of the new facts of one agent; None when there were none, or somebody else is at them."""
    with locks.lock(running.lock_of(agent_id), wait=False) as is_ours:
        if not is_ours or not (decisions := _waiting(agent_id, files).decisions):
            return None
        began = clock.now_ms()
        agent = Agent.objects.get(agent_id=agent_id)
        running.end_interrupted(agent)
        walk = Walk(agent, guardian, progress, len(decisions), is_unattended=True, most_failures=1)
        walk.go(running.of_decisions(agent.db, decisions, by=BY_ITSELF), may_go_on)
        return running.told(agent, walk, began)


def _waiting(agent_id, files: dict[str, Switched], most: int | None = None) -> Chosen:
    """The facts that wait, the oldest first; none of an agent whose limit is reached, nor for files nobody can read."""
    agent = Agent.objects.filter(agent_id=agent_id).first()
    if agent is None:
        return Chosen()
    try:
        room = steps.left(databases.alias(agent_id))
        if room is not None and room < prompts.tokens(prompts.opening("", "")) + guardians.LEAST_ANSWER:
            return Chosen()
        memory, back = Memory(agent), clock.now_ms() - BACK_MS
        since = tuple((name, max(one.since, back)) for name, one in files.items() if memory.can_read(name))
        asked = Asked(limit=most, files=since, give_up_after=GIVE_UP_AFTER)
        return facts.choose(agent, replace(asked, since=min(at for _name, at in since))) if since else Chosen()
    except (databases.UnknownAgent, databases.OldAgentFile, Refused):
        return Chosen()


def _is_pausing():
    last = JobRun.objects.filter(kind=KIND).order_by("-created_at", "-id").first()
    if last is None or last.finished_at is None or not clock.is_recent(last.finished_at, PAUSE_MS):
        return False
    return last.state != JobRun.State.FINISHED or bool(orjson.loads(last.result_json or "{}").get("stopped"))


def _told(found):
    stopped = " ".join(result["stopped"] for result in found if result["stopped"])
    handled = sum(result["handled"] for result in found)
    if stopped and not handled:
        raise Refused(stopped)
    message = " ".join(f"{result['agent']}: {result['message']}" for result in found) or _("There were no new facts.")
    return {"message": message, "stopped": stopped, "agents": found}


JOB = Kind(
    run=run,
    label=gettext_lazy("Built-in guardian: new facts"),
    started=gettext_lazy("started the built-in guardian for new facts"),
    kept=gettext_lazy("Writes and proposals so far are kept; the next run continues."),
    done=lambda result: str(result["message"]),
    every=Every(guardians.ENABLED, MINUTE_MS, dict, is_possible, is_switch=True),
)
